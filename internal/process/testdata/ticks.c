// ticks KIND: has a timer of 5 kHz (0: setitimer, 1: timer_create) whose handler runs on an alternate stack, until
// its input ends. Prints how many frames of the signal have been on that stack at most, and the sum of si_overrun.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char *top;
static volatile uintptr_t most, least = UINTPTR_MAX;
static volatile long n, overrun;

static void on(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	uintptr_t used = top - (char *)uc;
	if (used > most)
		most = used;
	if (used < least)
		least = used;
	if (si->si_code == SI_TIMER)
		overrun += si->si_overrun;
	n++;
}

int main(int argc, char **argv)
{
	(void)argc;
	size_t size = 16 << 20;
	stack_t st = {.ss_size = size, .ss_sp = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
	top = (char *)st.ss_sp + size;
	sigaltstack(&st, 0);
	struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER};
	sigaction(SIGALRM, &a, 0);
	if (atoi(argv[1])) {
		timer_t t;
		struct itimerspec it = {{0, 200000}, {0, 200000}};
		timer_create(CLOCK_MONOTONIC, 0, &t);
		timer_settime(t, 0, &it, 0);
	} else {
		struct itimerval it = {{0, 200}, {0, 200}};
		setitimer(ITIMER_REAL, &it, 0);
	}
	while (n == 0)
		;
	printf("ready\n");
	fflush(stdout);
	char c;
	while (read(0, &c, 1) == 1)
		;
	signal(SIGALRM, SIG_IGN);
	printf("frames %ld overrun %ld\n", (long)((most + least / 2) / least), overrun);
	return 0;
}
