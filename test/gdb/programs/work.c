/* Something to trace: a function with all kinds of arguments, called a known number
 * of times by some threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct point {
	int x, y;
	const char *name;
};

static const char *const names[] = { "zero", "one", "two", "three" };
long total;
long *wild = (long *)8;
int loops = 10;
int numbers[4] = { 3, 1, 4, 1 };
double ratio = 0.5;

__attribute__((noinline, noclone)) long work(int n, const char *name, struct point *p)
{
	long sum = n;
	sum += p->x;
	sum += p->y;
	__atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
	return sum;
}

__attribute__((noinline, noclone)) void finished(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void halfway(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *loop(void *arg)
{
	for (int i = 0; i < loops; i++) {
		struct point p = { i, 2 * i, names[i & 3] };
		if (2 * i == loops)
			halfway();
		numbers[0] = i;
		work(i, names[i & 3], &p);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t list[64];

	if (argc > 1)
		loops = atoi(argv[1]);
	for (int i = 0; i < threads; i++)
		pthread_create(&list[i], NULL, loop, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(list[i], NULL);
	if (!threads)
		loop(NULL);
	printf("total %ld\n", total);
	fflush(stdout);
	finished();
	return 0;
}

/* For GDB to call. */
__attribute__((noinline, noclone, used)) int half(int n)
{
	return n / 2;
}
