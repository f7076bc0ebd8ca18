/* Events of two ints from several threads: two EVENTS THREADS RATE. RATE is that of all threads, a second; 0: as fast as possible. It
   begins when its standard input ends, and prints the nanoseconds that it took. LTTNG: with a static tracepoint. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef LTTNG
#include "two-tp.h"
#define POINT(a, b) lttng_ust_tracepoint(jalonrecord, hit, a, b)
#else
#define POINT(a, b)
#endif

#define BURST 1000

static long events, threads, rate;

__attribute__((noinline)) int hit(int a, int b)
{
	POINT(a, b);
	__asm__ volatile("" ::: "memory");
	return a + b;
}

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *run(void *p)
{
	int sum = 0, thread = (int)(long)p;
	long long start = now();
	for (long i = 0; i < events / threads; i++) {
		sum += hit((int)i, thread);
		if (rate && i % BURST == BURST - 1) {
			long long due = start + (long long)((double)(i + 1) * threads * 1e9 / rate);
			struct timespec t = { due / 1000000000, due % 1000000000 };
			if (due > now() + 100000)
				while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
					;
		}
	}
	return (void *)(long)sum;
}

int main(int argc, char **argv)
{
	pthread_t list[64];
	char c;
	if (argc != 4)
		return 2;
	events = atol(argv[1]), threads = atol(argv[2]), rate = atol(argv[3]);
	if (threads < 1 || threads > 64)
		return 2;
	while (read(0, &c, 1) > 0)
		;
	long long start = now();
	for (long i = 0; i < threads; i++)
		pthread_create(&list[i], NULL, run, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(list[i], NULL);
	printf("%lld\n", now() - start);
	return 0;
}
