// Work with deep and varied stacks, interrupted by a timer: sorting with callbacks, recursion, large and
// aligned frames, variable-size arrays, calls by the procedure linkage table, tail calls, signal handlers.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile unsigned long sink;
static unsigned seed = 1;

static unsigned next(void) { return seed = seed * 1103515245 + 12345; }

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

__attribute__((noinline)) static void sorting(int n)
{
	char **list = malloc(n * sizeof *list);
	for (int i = 0; i < n; i++) {
		char text[64];
		snprintf(text, sizeof text, "%u-%g", next(), sqrt(next()));
		list[i] = strdup(text);
	}
	qsort(list, n, sizeof *list, compare);
	for (int i = 0; i < n; i++) {
		sink += strlen(list[i]);
		free(list[i]);
	}
	free(list);
}

__attribute__((noinline)) static unsigned long ackermann(unsigned long m, unsigned long n)
{
	if (m == 0)
		return n + 1;
	if (n == 0)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline)) static double aligned(int depth, ...)
{
	_Alignas(64) double v[32];
	for (int i = 0; i < 32; i++)
		v[i] = next() * 1e-6 + depth;
	char room[next() % 512 + 16];
	snprintf(room, sizeof room, "%f", v[depth & 31]);
	double s = depth > 0 ? aligned(depth - 1, room, v) : 0;
	for (int i = 0; i < 32; i++)
		s += v[i] * strtod(room, 0);
	return s;
}

__attribute__((noinline)) static void large(int depth)
{
	char block[50000];
	memset(block, depth, sizeof block);
	sink += block[next() % sizeof block];
	if (depth > 0)
		large(depth - 1);
	sink += block[next() % sizeof block];
}

static void handler(int sig)
{
	(void)sig;
	sorting(20);
}

static void (*steps[])(void);

static void s0(void) { sorting(200); }
static void s1(void) { sink += ackermann(2, 40); }
static void s2(void) { sink += aligned(12); }
static void s3(void) { large(5); }
static void s4(void) { raise(SIGUSR1); }
static void s5(void) { steps[next() % 5](); }
static void (*steps[])(void) = {s0, s1, s2, s3, s4, s5};

int main(void)
{
	struct itimerval often = {{0, 500}, {0, 500}};
	signal(SIGUSR1, handler);
	setitimer(ITIMER_PROF, &often, 0);
	for (;;)
		steps[next() % 6]();
}
