/* marker.c - the cost of a static marker that is off, as in the LTTng paper.
 *
 *   marker cached|uncached N REPS
 *
 * Prints "ns X.XXX" per call of a function that has a marker: -DUSDT_PROBE a nop and its note,
 * -DSEMAPHORE the same behind the test of a semaphore (as <sys/sdt.h> has it), -DLTTNG a
 * tracepoint of LTTng-UST, or none. uncached: before each call the lines of the function's code
 * and of the data that it reads are flushed from all caches.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>
#ifdef LTTNG
#include "lttng-tp.h"
#endif
#if defined(USDT_PROBE) || defined(SEMAPHORE)
#include "usdt.h"
#endif

int counter = 1;
volatile unsigned short semaphore;

__attribute__((noinline, noclone, aligned(64))) int marked(int counter1, int counter2)
{
	counter++;
#ifdef LTTNG
	lttng_ust_tracepoint(jalonbench, hit, counter1, counter2);
#endif
#ifdef SEMAPHORE
	if (__builtin_expect(semaphore, 0))
		USDT(counter1, counter2);
#endif
#ifdef USDT_PROBE
	USDT(counter1, counter2);
#endif
	return counter1 + counter2 + counter;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

volatile int sink;

static double cached(long n)
{
	double start = now();

	for (long i = 0; i < n; i++)
		sink = marked(i, i);
	return (now() - start) / n;
}

static void flush(void)
{
	for (int line = 0; line < 4; line++)
		_mm_clflush((char *)(uintptr_t)marked + 64 * line);
	_mm_clflush((char *)&counter);
	_mm_clflush((void *)&semaphore);
#ifdef LTTNG
	_mm_clflush(&lttng_ust_tracepoint_jalonbench___hit);
#endif
	_mm_mfence();
}

/* ns of the time stamp counter, by which single calls are measured */
static double period;

static double uncached(long n)
{
	uint64_t cycles = 0;
	unsigned aux;

	for (long i = 0; i < n; i++) {
		flush();
		uint64_t start = __rdtscp(&aux);
		_mm_lfence();
		sink = marked(i, i);
		uint64_t end = __rdtscp(&aux);
		_mm_lfence();
		cycles += end - start;
	}
	return cycles * period / n;
}

int main(int argc, char **argv)
{
	int flushed = argc > 1 && !strcmp(argv[1], "uncached");
	long n = argc > 2 ? atol(argv[2]) : 100000;
	int reps = argc > 3 ? atoi(argv[3]) : 9;
	double start = now();
	uint64_t first = __rdtsc();

	while (now() - start < 2e7)
		;
	period = (now() - start) / (__rdtsc() - first);
	for (int r = -1; r < reps; r++) {
		double ns = flushed ? uncached(n) : cached(n);
		if (r >= 0)
			printf("ns %.3f\n", ns);
	}
	return 0;
}
