// nested HOW WAY SIZE: runs handlers with SA_NODEFER on an alternate stack of SIZE frames, until its input ends.
// HOW: setitimer, timer (a timer of timer_create), sent (nothing: SIGUSR1 is sent to it), disarm (as timer, SS_AUTODISARM), plain (as
// timer, the handler runs on a thread's small stack).
// WAY: the handler returns; jumps: leaves by longjmp, which restores no mask; waits: waits for the next signal within;
// execs: its first call makes a child that prints its mask of blocked signals.
// Prints how many frames there were at once at most, and how often the handler was called.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

// The time between two signals, in microseconds. Where a busy machine runs the program for shorter times than that, a handler
// is interrupted again and again, and the frames fill the stack without a tracer.
enum { INTERVAL = 1000 };

static volatile long n;
static volatile uintptr_t least = UINTPTR_MAX, first;
static const char *how, *way;
static jmp_buf back;
static char *const argv0[] = {"/bin/grep", "SigBlk", "/proc/self/status", NULL};

static void on(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)si;
	uintptr_t at = (uintptr_t)uc;
	long called = ++n;
	if (at < least)
		least = at;
	if (first == 0)
		first = at;
	if (!strcmp(way, "jumps") && called % 3 == 0)
		_longjmp(back, 1);
	if (!strcmp(way, "waits") && called % 64 == 0)
		while (n == called)
			pause();
	static volatile int execing; // it takes longer than 64 ticks where the machine is busy
	if (!strcmp(way, "execs") && called % 64 == 0 && called < 1000 && !execing) {
		execing = 1;
		pid_t pid = fork();
		if (pid == 0) {
			execv(argv0[0], argv0);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		execing = 0;
	}
}

static size_t frame;

static void stack(size_t frames, int flags)
{
	size_t size = (frames * frame + 4095) & ~4095ul;
	char *p = mmap(0, size + (1 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p += 1 << 20; // what lies below cannot be written
	mprotect(p, size, PROT_READ | PROT_WRITE);
	stack_t st = {.ss_size = size, .ss_sp = p, .ss_flags = flags};
	if (sigaltstack(&st, 0))
		perror("sigaltstack");
}

static void say(const char *line)
{
	if (write(1, line, strlen(line)) < 0)
		_exit(1);
}

static void *run(void *more)
{
	(void)more;
	_setjmp(back);
	if (n == 0) {
		struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
		struct itimerspec it = {{0, INTERVAL * 1000}, {0, INTERVAL * 1000}};
		struct itimerval old = {{0, INTERVAL}, {0, INTERVAL}};
		timer_t t;
		if (!strcmp(how, "setitimer")) {
			setitimer(ITIMER_REAL, &old, 0);
		} else if (strcmp(how, "sent")) {
			timer_create(CLOCK_MONOTONIC, &e, &t);
			timer_settime(t, 0, &it, 0);
		}
	}
	while (n == 0)
		;
	// Not by stdio: a handler that jumps may leave it locked, or half changed. A line may come twice.
	static volatile int printed;
	if (!printed)
		say("ready\n");
	printed = 1;
	static volatile int end;
	static volatile long asked;
	while (!end) {
		static volatile long i;
		if (i++ % 100000 == 0) {
			struct timeval none = {0, 0};
			fd_set in;
			FD_ZERO(&in);
			FD_SET(0, &in);
			char c;
			if (select(1, &in, 0, 0, &none) == 1 && read(0, &c, 1) < 1)
				end = 1;
			else if (FD_ISSET(0, &in) && asked == 0)
				asked = n;
			if (asked > 0 && n > asked + 10) {
				say("more\n");
				asked = -1;
			}
		}
	}
	for (int s = SIGRTMIN; s < SIGRTMIN + 4; s++)
		signal(s, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	printf("frames %ld calls %ld\n", (long)((first - least + frame / 2) / frame + 1), n);
	return 0;
}

int main(int argc, char **argv)
{
	(void)argc;
	how = argv[1], way = argv[2];
	frame = getauxval(51); // AT_MINSIGSTKSZ
	size_t frames = atoi(argv[3]);
	if (strcmp(how, "plain")) // before a signal can be caught
		stack(frames, !strcmp(how, "disarm") ? (int)SS_AUTODISARM : 0);
	struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER};
	sigaction(SIGALRM, &a, 0);
	sigaction(SIGUSR1, &a, 0);
	sigaction(SIGRTMIN + 1, &a, 0);
	if (!strcmp(how, "plain")) {
		size_t size = (frames * frame + (16 << 10) + 4095) & ~4095ul;
		pthread_attr_t attr;
		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), size);
		pthread_t t;
		pthread_create(&t, &attr, run, 0);
		sigset_t all;
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, 0);
		pthread_join(t, 0);
		return 0;
	}
	run(0);
	return 0;
}
