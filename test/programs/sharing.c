/* A thread made by clone without CLONE_SETTLS, which has the thread pointer of the first thread until it sets its own. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST, SHARED, OWN };

static volatile int turn;
static volatile int running = 1; /* the kernel clears it when the thread has ended */
static void *tls[64] __attribute__((aligned(64)));
static char stack[65536] __attribute__((aligned(16)));

__attribute__((noinline)) void work(int part, int tid)
{
	__asm__ volatile("" : : "r"(part), "r"(tid) : "memory");
}

/* The C library's functions write to the thread pointer's memory. */
static long call(long nr, long a, long b)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
}

static void await(int value)
{
	while (turn != value)
		call(SYS_sched_yield, 0, 0);
}

static int child(void *arg)
{
	work(SHARED, call(SYS_gettid, 0, 0));
	turn = 1;
	await(2);
	tls[0] = tls;
	call(SYS_arch_prctl, ARCH_SET_FS, (long)tls);
	work(OWN, call(SYS_gettid, 0, 0));
	call(SYS_exit, 0, 0);
	return 0;
}

int main(void)
{
	work(FIRST, getpid());
	clone(child, stack + sizeof(stack), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
	      NULL, NULL, NULL, &running);
	await(1);
	work(SHARED, getpid());
	turn = 2;
	while (running)
		call(SYS_sched_yield, 0, 0);
	puts("done");
	return 0;
}
