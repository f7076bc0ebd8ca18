/*
 * A program under restrictions: confined HOW. Before or after a byte on standard input
 * it forbids itself the operations of HOW; then it works, checks itself and prints "ok".
 *   tsc, tsc-later        reading the time stamp counter
 *   strict, strict-later  all calls but read, write and exit (its only thread)
 *   strict-thread         the same in a second thread
 *   filter                rt_sigprocmask ends it
 *   filter-mmap           mmap, munmap, memfd_create and prctl end it
 *   small                 address space: 48 MiB
 *   reads-tsc             it reads the time stamp counter after that was forbidden, and ends with 0 if nothing
 *                         prevented it, as on some virtual machines
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct node {
	long value;
	struct node *next;
};

__attribute__((noinline)) long visit(long n, struct node *p)
{
	__asm__ volatile("" : "+r"(n), "+r"(p));
	return 3 * n + 1;
}

static int is(const char *how, const char *what)
{
	return !strncmp(how, what, strlen(what));
}

static void forbid(int n, const int *calls)
{
	struct sock_filter f[16] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	int at = 1;

	for (int i = 0; i < n; i++)
		f[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], n - i, 0);
	f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog prog = { at, f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(2);
}

static void confine(const char *how)
{
	if (is(how, "tsc"))
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	if (is(how, "strict"))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "filter"))
		forbid(1, (int[]){ SYS_rt_sigprocmask });
	if (!strcmp(how, "filter-mmap"))
		forbid(4, (int[]){ SYS_mmap, SYS_munmap, SYS_memfd_create, SYS_prctl });
	if (!strcmp(how, "small"))
		setrlimit(RLIMIT_AS, &(struct rlimit){ 48 << 20, 48 << 20 });
}

static volatile int bad, confined, go;

static void work(void)
{
	struct node wild = { 1, (struct node *)8 };

	for (long n = 0; n < 2000; n++)
		if (visit(n, &wild) != 3 * n + 1)
			bad = 1;
}

static void *beside(void *how)
{
	confine(how);
	confined = 1;
	while (!go)
		;
	work();
	syscall(SYS_exit, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int later = strstr(how, "-later") != NULL;
	pthread_t t;
	char c;

	if (!strcmp(how, "reads-tsc")) {
		confine("tsc");
		__builtin_ia32_rdtsc();
		return 0;
	}
	if (!strcmp(how, "strict-thread")) {
		pthread_create(&t, NULL, beside, (void *)how);
		while (!confined)
			;
	} else if (!later) {
		confine(how);
	}
	if (write(1, "ready\n", 6) != 6 || read(0, &c, 1) != 1)
		syscall(SYS_exit, 3);
	go = 1;
	if (later)
		confine(how);
	work();
	if (!strcmp(how, "strict-thread"))
		pthread_join(t, NULL);
	if (write(1, bad ? "bad\n" : "ok\n", bad ? 4 : 3) < 0)
		bad = 1;
	syscall(SYS_exit, bad);
}
