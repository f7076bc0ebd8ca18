/* loop.c - the workload of the kernel's benchmark: a cheap system call, or a small
 * function in this file, called in a loop on one CPU.
 *
 *   loop CPU
 *
 * Reads lines "MODE CALLS BATCHES GAP_US" and prints for each BATCHES lines
 * "ns X.XXX" (ns per call, loop included) and a line "end". GAP_US of idleness
 * between batches lets a tracer's reader empty its buffer, so that a batch measures
 * hits and not a full buffer. If permitted it runs with a real-time priority, so that other
 * processes do not interrupt a batch.
 *
 * MODE:
 *   syscall   getpriority(0, 1): the arguments make 2*which+3*who positive
 *   read      read(2) of one byte of /dev/zero, for probes on vfs_read
 *   push      test_function(i, i), which begins with a push
 *   nop       nop_function(i, i), which begins with a nop of five bytes
 *   rename    write(2) of a name to /proc/self/comm: the tracepoint task:task_rename
 *   urandom   read(2) of 16 bytes of /dev/urandom
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int counter;

/* Both are written in assembler so that the first instruction is the intended one. */
__attribute__((naked, noinline, noclone)) int test_function(int counter1, int counter2)
{
	__asm__("pushq %rbp\n\t"
		"movq %rsp, %rbp\n\t"
		"incl counter(%rip)\n\t"
		"leal (%rdi,%rsi), %eax\n\t"
		"popq %rbp\n\t"
		"ret");
}

__attribute__((naked, noinline, noclone)) int nop_function(int counter1, int counter2)
{
	__asm__(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
		"incl counter(%rip)\n\t"
		"leal (%rdi,%rsi), %eax\n\t"
		"ret");
}

static volatile int sink;
static int zero, comm, urandom;

static void by_syscall(long n)
{
	for (long i = 0; i < n; i++)
		syscall(SYS_getpriority, 0, 1);
}

static void by_read(long n)
{
	char c;

	for (long i = 0; i < n; i++)
		sink = read(zero, &c, 1);
}

static void by_push(long n)
{
	for (int i = 1; i <= n; i++)
		sink = test_function(i, i);
}

static void by_nop(long n)
{
	for (int i = 1; i <= n; i++)
		sink = nop_function(i, i);
}

static void by_rename(long n)
{
	for (long i = 0; i < n; i++)
		sink = write(comm, "loop", 4);
}

static void by_urandom(long n)
{
	char c[16];

	for (long i = 0; i < n; i++)
		sink = read(urandom, c, sizeof c);
}

static const struct {
	const char *name;
	void (*run)(long n);
} modes[] = {
	{ "syscall", by_syscall },
	{ "read", by_read },
	{ "push", by_push },
	{ "nop", by_nop },
	{ "rename", by_rename },
	{ "urandom", by_urandom },
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void measure(void (*run)(long), long calls, int batches, int gap)
{
	run(calls / 4 + 1); /* caches, branch predictors */
	for (int b = 0; b < batches; b++) {
		usleep(gap);
		double t0 = now();
		run(calls);
		double t1 = now();
		printf("ns %.3f\n", (t1 - t0) / calls);
	}
	printf("end\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct sched_param p = { .sched_priority = 1 };
	char line[128], mode[16];
	long calls;
	int batches, gap;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus)) {
		perror("sched_setaffinity");
		return 1;
	}
	sched_setscheduler(0, SCHED_FIFO, &p); /* otherwise more batches are disturbed */
	zero = open("/dev/zero", O_RDONLY);
	comm = open("/proc/self/comm", O_WRONLY);
	urandom = open("/dev/urandom", O_RDONLY);
	while (fgets(line, sizeof line, stdin)) {
		void (*run)(long) = NULL;

		if (sscanf(line, "%15s %ld %d %d", mode, &calls, &batches, &gap) != 4)
			return 1;
		for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
			if (!strcmp(mode, modes[i].name))
				run = modes[i].run;
		if (!run)
			return 1;
		measure(run, calls, batches, gap);
	}
	return 0;
}
