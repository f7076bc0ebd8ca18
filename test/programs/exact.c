// Threads of many kinds call work while they are moved between CPUs, get signals and are
// single-stepped. exact N: N calls each. Printed are the calls of all, and those with i a
// multiple of 64.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef STEPPED
#define STEPPED 200
#endif
enum { THREADS = 4, STACK = 1 << 16, TLS = 8192, VFORKS = 20, VFORKED = 50, SHORT = 100, SHORT_CALLS = 500 };

volatile int total;
static volatile int stop, ended;
static volatile long in_handler, handled;
static long rounds;
static int tids[THREADS + 2];

__attribute__((noipa)) int work(long i) { return (int)i + total; }

static void calls(long n)
{
	for (long i = 0; i < n; i++)
		work(i);
}

static long few(long n) { return (n + 63) / 64; }

static void on_alarm(int sig)
{
	(void)sig;
	__atomic_add_fetch(&in_handler, 1, __ATOMIC_RELAXED);
	work(0);
}

static void on_trap(int sig) { (void)sig, handled++; }

// The tracer determines its speed: it traps after each of its own instructions.
static void *stepped(void *arg)
{
	for (long i = 0; i < STEPPED; i++) {
		__asm__ volatile("pushfq; orq $0x100,(%%rsp); popfq" ::: "memory", "cc");
		work(i);
		__asm__ volatile("pushfq; andq $~0x100,(%%rsp); popfq" ::: "memory", "cc");
	}
	return arg;
}

static void *brief(void *arg)
{
	calls(SHORT_CALLS);
	return arg;
}

static void *migrate(void *arg)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (unsigned k = 0; !stop; k++) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET((k * 7 + k / 13) % (unsigned)cpus, &set);
		int tid = tids[k % (THREADS + 2)];
		if (tid)
			sched_setaffinity(tid, sizeof set, &set);
		usleep(50);
	}
	return arg;
}

// A thread without libc: it must not touch thread-local data.
__attribute__((optimize("no-stack-protector"))) static int raw(void *arg)
{
	*(int *)arg = (int)syscall(SYS_gettid);
	calls(rounds);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void start_raw(int flags, void *tls, int *tid)
{
	char *stack = aligned_alloc(16, STACK);
	if (clone(raw, stack + STACK, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | flags, tid, NULL, tls) < 0)
		abort();
}

// The first one creates a thread that has its thread pointer.
static void *registered(void *arg)
{
	*(int *)arg = gettid();
	if (arg == tids)
		start_raw(0, NULL, &tids[THREADS]);
	calls(rounds);
	return arg;
}

int main(int argc, char **argv)
{
	static char tls[TLS] __attribute__((aligned(64))), same[TLS];
	pthread_t t[THREADS], m, s, b;
	long vforks = 0, briefs = 0;

	rounds = argc > 1 ? atol(argv[1]) : 100000;
	signal(SIGALRM, on_alarm);
	signal(SIGTRAP, on_trap);
	struct itimerval ms = {{0, 1000}, {0, 1000}};
	setitimer(ITIMER_REAL, &ms, NULL);
	memset(tls, 0, TLS);
	*(void **)(tls + TLS / 2) = tls + TLS / 2; // as required by the ABI, and nothing else
	memcpy(same, tls, TLS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, registered, &tids[i]);
	pthread_create(&m, NULL, migrate, NULL);
	start_raw(CLONE_SETTLS, tls + TLS / 2, &tids[THREADS + 1]);
	pthread_create(&s, NULL, stepped, NULL);
	for (; briefs < SHORT; briefs++) {
		pthread_create(&b, NULL, brief, NULL);
		pthread_join(b, NULL);
		if (briefs % (SHORT / VFORKS) == 0) {
			pid_t pid = vfork();
			if (pid == 0) {
				calls(VFORKED);
				_exit(0);
			}
			vforks++;
			while (waitpid(pid, NULL, 0) < 0)
				;
		}
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pthread_join(s, NULL);
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	stop = 1;
	pthread_join(m, NULL);
	ms = (struct itimerval){0};
	setitimer(ITIMER_REAL, &ms, NULL);
	if (memcmp(tls, same, TLS) != 0) {
		printf("memory that is no struct rseq was written to\n");
		return 1;
	}
	long all = rounds * (THREADS + 2) + STEPPED + briefs * SHORT_CALLS + vforks * VFORKED;
	long some = few(rounds) * (THREADS + 2) + few(STEPPED) + briefs * few(SHORT_CALLS) + vforks * few(VFORKED);
	printf("%ld %ld\n", all + in_handler, some + in_handler);
	return handled == 0;
}
