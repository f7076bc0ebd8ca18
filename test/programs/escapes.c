/* escapes.c - a thread on one CPU is interrupted by signals, whose handler leaves by siglongjmp, wherever it is. Then it
 * calls another function until a line comes. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

char big[1000];
static sigjmp_buf back;
static volatile int armed, over;
static volatile long sum;
static pthread_t first;

__attribute__((noinline)) void often(long i) { sum += i; }
__attribute__((noinline)) void afterwards(long i) { sum += i; }

static void escape(int sig)
{
	if (armed) {
		armed = 0;
		siglongjmp(back, sig);
	}
}

static void *kicks(void *arg)
{
	for (int n = 0; !over; n++) {
		while (!armed && !over)
			sched_yield();
		for (volatile int k = n % 64 * 16; k > 0; k--)
			;
		pthread_kill(first, SIGUSR1);
	}
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = escape };
	struct pollfd in = { 0, POLLIN, 0 };
	pthread_t t;
	cpu_set_t one;
	long calls = 0;
	volatile long jumps = 0;

	first = pthread_self();
	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&t, NULL, kicks, NULL);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	while (jumps < 200) {
		if (sigsetjmp(back, 1)) {
			jumps++;
			continue;
		}
		armed = 1;
		for (int burst = 0; burst < 5; burst++) { /* more than one: on a busy machine the signal is late */
			for (int i = 0; i < 100; i++)
				often(i);
			for (volatile int k = 0; k < 20000; k++)
				;
		}
		for (;;)
			sched_yield();
	}
	over = 1;
	pthread_join(t, NULL);
	while (poll(&in, 1, 5) == 0)
		afterwards(calls++);
	fprintf(stderr, "afterwards %ld\n", calls); /* events go to standard output */
	return 0;
}
