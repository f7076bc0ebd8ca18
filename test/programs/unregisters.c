// Threads give their struct rseq back to the kernel in the middle of their work: unregisters N HOW. With "again" they register
// it again with another signature, with "own" another one.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

static long n;
static const char *how;

__attribute__((noinline)) void hit(long i) { __asm__ volatile("nopl 0x200(%%rax,%%rax,1)" : : "r"(i)); }

static void *work(void *arg)
{
	static __thread struct rseq own __attribute__((aligned(32)));
	struct rseq *libc = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	for (long i = 0; i < n; i++) {
		hit(i);
		if (i != n / 4)
			continue;
		if (syscall(SYS_rseq, libc, 32, 1, 0x53053053))
			perror("unregister");
		if (!strcmp(how, "again") && syscall(SYS_rseq, libc, 32, 0, 0x12345678))
			perror("again");
		if (!strcmp(how, "own") && syscall(SYS_rseq, &own, 32, 0, 0x53053053))
			perror("own");
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	n = atol(argv[1]);
	how = argc > 2 ? argv[2] : "";
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	work(NULL);
	printf("%ld hits\n", 4 * n);
	return 0;
}
