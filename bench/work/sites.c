/* sites.c - calls functions in turn, to show how the cost of a hit depends on their number and on threads.
 *
 *   sites FUNCTIONS THREADS REPS
 *
 * Each thread calls the first FUNCTIONS functions of sites.S again and again, 400,000 calls a batch, and prints
 * "ns X.XXX", the processor time per call of a batch, loop included.
 */
#define _GNU_SOURCE
#include "work.h"
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int counter;
uint64_t cells[NCPU << (CELLS_SHIFT - 3)] __attribute__((aligned(4096)));
extern int (*sites[])(int, int);
extern char site0[], text_end[];
extern char *offsets[];
extern const ptrdiff_t __rseq_offset; /* glibc 2.35 */

static long functions, reps;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *run(void *arg)
{
	const long calls = 400000;

	for (long r = -1; r < reps; r++) {
		double t0 = now();
		long s = 0;
		for (long n = 0; n < calls; n += functions)
			for (long i = 0; i < functions; i++)
				s += sites[i](1, n);
		double t1 = now();
		if (r >= 0)
			printf("ns %.3f\n", (t1 - t0) / calls);
		if (s == 42)
			puts("");
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	long threads;

	if (argc < 4)
		return 2;
	functions = atol(argv[1]), threads = atol(argv[2]), reps = atol(argv[3]);
	if (functions < 1 || functions > SITES || threads < 1 || threads > 64)
		return 2;
	if (offsets[0]) {
		uintptr_t lo = (uintptr_t)site0 & ~4095UL;
		if (mprotect((void *)lo, (uintptr_t)text_end - lo, PROT_READ | PROT_WRITE | PROT_EXEC)) {
			perror("mprotect");
			return 1;
		}
		for (char **p = offsets; *p; p++)
			*(int32_t *)*p += (int32_t)__rseq_offset;
	}
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], 0, run, 0);
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], 0);
	return 0;
}
