/*
 * A program that checks itself: checked THREADS. The threads call functions of
 * several shapes repeatedly and compare each result with the expected one.
 * For every byte on standard input the program prints "on" when each thread has run
 * all functions once more. At its end it prints "ok" or "bad", and the number
 * of rounds.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct node {
	long value;
	struct node *next;
};

static atomic_int stop;
static atomic_long bad;
static atomic_long rounds[64];

NOINLINE long leaf(long a, long b)
{
	return 3 * a - b;
}

NOINLINE long loop(const int *v, int n)
{
	long sum = 0;
	int i;

	for (i = 0; i < n; i++)
		sum += v[i] * (i + 1);
	return sum;
}

NOINLINE long depth(long n)
{
	if (n <= 1)
		return 1;
	return n + depth(n - 1) * 2;
}

NOINLINE double mixed(double x, int k, float y)
{
	return x * k + y / 4;
}

NOINLINE int choose(unsigned k)
{
	switch (k % 8) {
	case 0: return 11;
	case 1: return 7;
	case 2: return 301;
	case 3: return -5;
	case 4: return 90;
	case 5: return 12345;
	case 6: return 0;
	default: return 66;
	}
}

/* Its pointer is wild most of the time; it is not followed then. */
NOINLINE long wild(struct node *p, long follow)
{
	return follow ? p->value : follow + 1;
}

NOINLINE int text(char *to, const char *from)
{
	int n = 0;

	while ((to[n] = from[n]))
		n++;
	return n;
}

/* Fewer than five bytes before a jump target. */
NOINLINE long tight(long n)
{
	long k = 0;

	__asm__ volatile("1: inc %0\n\tdec %1\n\tjnz 1b" : "+r"(k), "+r"(n) : : "cc");
	return k;
}

static void expect(int ok)
{
	if (!ok)
		atomic_fetch_add(&bad, 1);
}

static void round_of(unsigned long seed)
{
	static const int v[] = { 5, -3, 8, 1, 900, 12, -77 };
	static const int chosen[] = { 11, 7, 301, -5, 90, 12345, 0, 66 };
	struct node good = { (long)seed, NULL };
	char buf[32];
	double m;

	expect(leaf(seed, 17) == (long)(3 * seed - 17));
	expect(loop(v, 7) == 5 - 6 + 24 + 4 + 4500 + 72 - 539);
	expect(depth(10) == 2036);
	m = mixed(2.5, 4, 8.0f);
	expect(m == 12.0);
	expect(choose(seed) == chosen[seed % 8]);
	expect(wild((struct node *)(seed * 0x9e3779b97f4a7c15UL), 0) == 1);
	expect(wild(NULL, 0) == 1);
	expect(wild(&good, 1) == (long)seed);
	expect(text(buf, "checked") == 7 && !memcmp(buf, "checked", 8));
	expect(tight(seed % 5 + 1) == (long)(seed % 5 + 1));
}

static void *work(void *arg)
{
	long id = (long)arg;
	unsigned long seed = id * 1000003;

	while (!atomic_load(&stop)) {
		round_of(seed++);
		atomic_fetch_add(&rounds[id], 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[64];
	long all = 0;
	char c;

	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	while (read(0, &c, 1) == 1) {
		for (int i = 0; i < n; i++) {
			long from = atomic_load(&rounds[i]);

			while (atomic_load(&rounds[i]) < from + 2)
				usleep(100);
		}
		if (write(1, "on\n", 3) != 3)
			return 1;
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		all += rounds[i];
	}
	printf("%s\n", bad ? "bad" : "ok");
	fprintf(stderr, "%ld rounds\n", all);
	return bad != 0;
}
