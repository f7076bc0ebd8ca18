// Faults in the functions of crash.S. "handle": a handler prints where the signal
// came from, corrects the cause and returns, or skips the instruction; "jump": it leaves
// by siglongjmp; a name: the function is called without a handler, and the program
// ends by the signal. "storm N": as "handle", N times, and only the sum is printed.
#define _GNU_SOURCE
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <pthread.h>

// With the offset of the pc that a handler sees.
#define EACH(F) F(load1, 0) F(load2, 2) F(load3, 3) F(divide, 2) F(illegal, 2) F(breakpoint, 1) F(breakpoint2, 3) F(calls, 2)
#define DECLARE(n, off) long n(long *, long);
EACH(DECLARE)

static long value = 41;
static long one(void) { return 7; }
static long (*pointer)(void) = one;
static sigjmp_buf back;
static int jump, quiet;
static unsigned long seen;
static const char *what;
static char *at;

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	char line[200];
	void *frames[32]; // beyond the signal's own
	seen = seen * 31 + (unsigned long)((char *)r[REG_RIP] == at) + (unsigned long)sig;
	int n = snprintf(line, sizeof line, "%s: signal %d code %d pc %s%+ld address %s rsp %ld frames %d\n", what, sig, info->si_code,
		what, (long)((char *)r[REG_RIP] - at),
		(char *)info->si_addr == at ? "pc" : info->si_addr == 0 ? "0" : "other",
		(long)(r[REG_RSP] % 16), quiet ? 0 : backtrace(frames, 32));
	if (!quiet)
		write(1, line, (size_t)n);
	if (jump)
		siglongjmp(back, 1);
	switch (sig) {
	case SIGSEGV:
		r[REG_RDI] = strcmp(what, "calls") == 0 ? (greg_t)&pointer : (greg_t)&value;
		break;
	case SIGFPE:
		r[REG_RSI] = 1;
		break;
	case SIGILL:
		r[REG_RIP] += 2;
		break;
	}
}

static long call(const char *name, long (*f)(long *, long), char *pc)
{
	what = name, at = pc;
	if (sigsetjmp(back, 1))
		return -1;
	return f(NULL, 0);
}

static void *other(void *arg)
{
	for (volatile long sum = 0;;)
		sum += load1(&value, 0);
	return arg;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "handle";
	static const int signals[] = {SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	pthread_t thread;

	jump = strcmp(mode, "jump") == 0;
	quiet = strcmp(mode, "storm") == 0;
	if (jump || quiet || strcmp(mode, "handle") == 0) {
		for (int i = 0; i < 4; i++)
			sigaction(signals[i], &sa, NULL);
		for (int round = 0; quiet && round < atoi(argv[2]); round++) {
#define STORM(n, off) seen = seen * 31 + (unsigned long)call(#n, n, (char *)n + off);
			EACH(STORM)
		}
		if (quiet) {
			printf("sum %lx\n", seen);
			return 0;
		}
		for (int round = 0; round < 3; round++) {
#define CALL(n, off) printf(#n " %ld\n", call(#n, n, (char *)n + off)); fflush(stdout);
			EACH(CALL)
		}
		return 0;
	}
	setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
	pthread_create(&thread, NULL, other, NULL);
#define CRASH(n, off) if (strcmp(mode, #n) == 0) call(#n, n, NULL);
	EACH(CRASH)
	return 1;
}
