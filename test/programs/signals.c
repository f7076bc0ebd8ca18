/*
 * Signals of every kind under load: signals MODE CALLS.
 * storm: SIGALRM at 1 kHz, SIGUSR1 from a second thread, an alternate stack
 * segv:  an own handler of SIGSEGV, and faults for it
 * block: SIGSEGV, SIGTRAP and SIGBUS are blocked
 * trap:  an own handler of SIGTRAP, and int3 instructions for it
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

static atomic_long alarms, users, faults, traps;
static atomic_int done;
static sigjmp_buf back;
static volatile int *volatile nowhere = (volatile int *)0x10;

struct item { int value; struct item *next; };

__attribute__((noinline, noclone)) long visit(struct item *p, long n)
{
	__asm__ volatile("" : : "r"(p) : "memory");
	return n * 3 + 1;
}

__attribute__((noinline, noclone)) int in_handler(int sig)
{
	__asm__ volatile("");
	return sig + 1;
}

static void on_alarm(int sig)
{
	if (in_handler(sig) == sig + 1)
		alarms++;
}

static void on_user(int sig)
{
	if (in_handler(sig) == sig + 1)
		users++;
}

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	(void)ctx;
	if (info->si_addr == (void *)0x10 && in_handler(sig) == sig + 1)
		faults++;
	siglongjmp(back, 1);
}

static void on_trap(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *u = ctx;

	(void)info;
	if (((unsigned char *)u->uc_mcontext.gregs[REG_RIP])[-1] == 0xcc && in_handler(sig) == sig + 1)
		traps++;
}

static void *pester(void *arg)
{
	pthread_t main_thread = *(pthread_t *)arg;

	while (!done) {
		pthread_kill(main_thread, SIGUSR1);
		struct timespec t = { 0, 200000 };
		nanosleep(&t, NULL);
	}
	return NULL;
}

/* Built with WAIT, the program waits for a byte or the end of its input when its
   signals are set up. */
static void ready(void)
{
#ifdef WAIT
	puts("ready");
	fflush(stdout);
	getchar();
#endif
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "storm";
	long calls = argc > 2 ? atol(argv[2]) : 1000;
	volatile long sum = 0;
	struct item good = { 4, NULL };
	struct item *items[] = { &good, NULL, (struct item *)0x4141414141414141, (struct item *)0x1000 };
	struct sigaction sa = { 0 };
	pthread_t self = pthread_self(), t;

	if (!strcmp(mode, "storm")) {
		static char stack[65536];
		stack_t ss = { .ss_sp = stack, .ss_size = sizeof stack };
		struct itimerval it = { { 0, 1000 }, { 0, 1000 } };

		sigaltstack(&ss, NULL);
		sa.sa_handler = on_alarm;
		sa.sa_flags = SA_ONSTACK | SA_RESTART;
		sigaction(SIGALRM, &sa, NULL);
		sa.sa_handler = on_user;
		sa.sa_flags = SA_RESTART;
		sigaction(SIGUSR1, &sa, NULL);
		setitimer(ITIMER_REAL, &it, NULL);
		pthread_create(&t, NULL, pester, &self);
		/* until the storm has really blown */
		for (long i = 0; i < calls || alarms < 100 || users < 100; i++)
			if (visit(items[i % 4], i) != i * 3 + 1)
				sum++;
		done = 1;
		pthread_join(t, NULL);
		printf("storm wrong %ld alarms %d users %d\n", sum, alarms >= 100, users >= 100);
		return 0;
	}
	if (!strcmp(mode, "segv")) {
		sa.sa_sigaction = on_fault;
		sa.sa_flags = SA_SIGINFO;
		sigaction(SIGSEGV, &sa, NULL);
		ready();
		for (volatile long i = 0; i < calls; i++) {
			sum += visit(items[i % 4], i);
			if (i % 16 == 0 && !sigsetjmp(back, 1))
				*nowhere = 1;
		}
		printf("segv sum %ld faults %ld\n", sum, (long)faults);
		return 0;
	}
	if (!strcmp(mode, "block")) {
		sigset_t set, now;

		sigemptyset(&set);
		sigaddset(&set, SIGSEGV);
		sigaddset(&set, SIGTRAP);
		sigaddset(&set, SIGBUS);
		sigprocmask(SIG_BLOCK, &set, NULL);
		ready();
		for (long i = 0; i < calls; i++)
			sum += visit(items[i % 4], i);
		sigprocmask(SIG_BLOCK, NULL, &now);
		printf("block sum %ld blocked %d %d %d\n", sum, sigismember(&now, SIGSEGV), sigismember(&now, SIGTRAP), sigismember(&now, SIGBUS));
		sigpending(&now);
		printf("pending %d %d %d\n", sigismember(&now, SIGSEGV), sigismember(&now, SIGTRAP), sigismember(&now, SIGBUS));
		return 0;
	}
	if (!strcmp(mode, "trap")) {
		struct sigaction old;

		sa.sa_sigaction = on_trap;
		sa.sa_flags = SA_SIGINFO;
		sigaction(SIGTRAP, &sa, NULL);
		ready();
		for (long i = 0; i < calls; i++) {
			sum += visit(items[i % 4], i);
			if (i % 16 == 0)
				__asm__ volatile("int3");
		}
		sigaction(SIGTRAP, NULL, &old);
		printf("trap sum %ld traps %ld own %d\n", sum, (long)traps, old.sa_sigaction == on_trap);
		return 0;
	}
	return 2;
}
