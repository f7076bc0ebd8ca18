/* calls.c - calls that tools like ltrace and strace observe: a function of a shared library,
 * or a cheap system call, in a loop. -DLIBRARY builds the library.
 *
 *   calls library|system N REPS [GAP_MS]
 *
 * GAP_MS of idleness between batches lets a reader empty its ring.
 * Prints "ns X.XXX" (ns per call, loop included) for each of REPS batches, after one unreported.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int library_function(int counter1, int counter2);

#ifdef LIBRARY
int counter = 1;

int library_function(int counter1, int counter2)
{
	counter++;
	return counter1 + counter2 + counter;
}
#else
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

volatile int sink;

int main(int argc, char **argv)
{
	int system = argc > 1 && !strcmp(argv[1], "system");
	long n = argc > 2 ? atol(argv[2]) : 1000;
	int reps = argc > 3 ? atoi(argv[3]) : 7;
	int gap = argc > 4 ? atoi(argv[4]) : 0;

	for (int r = -1; r < reps; r++) {
		double start = now();
		for (long i = 0; i < n; i++)
			sink = system ? (int)syscall(SYS_getppid) : library_function(i, i);
		double end = now();
		if (r >= 0)
			printf("ns %.3f\n", (end - start) / n);
		usleep(gap * 1000);
	}
	return 0;
}
#endif
