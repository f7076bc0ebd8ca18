/* Probes with arguments of every sort. Before each probe the program stores what
   its arguments are, so that what is read at the probe can be compared. */
#define _SDT_HAS_SEMAPHORES 1
#include <stddef.h>
#include <string.h>
#include <sys/sdt.h>

volatile long expect[12];
volatile double expect_float[12];

#define SEMAPHORE(name) __extension__ unsigned short demo_##name##_semaphore __attribute__((unused, section(".probes")))
SEMAPHORE(small); SEMAPHORE(wide); SEMAPHORE(consts); SEMAPHORE(globals); SEMAPHORE(member);
SEMAPHORE(element); SEMAPHORE(many); SEMAPHORE(floats); SEMAPHORE(nothing); SEMAPHORE(loop); SEMAPHORE(thread);

#define E(i, x) expect[i] = (long)(x)
#define NOINLINE __attribute__((noinline))

static int counter = 41;
unsigned short visible[4] = {1, 65535, 3, 4};
static struct { long pad[2]; signed char c; unsigned int u; } record = {{1, 2}, -7, 4000000000u};
static __thread int per_thread = -99;
struct node { int key; struct node *next; unsigned char flags[4]; };

NOINLINE void small(signed char a, unsigned char b, short c, unsigned short d)
{
	E(0, a), E(1, b), E(2, c), E(3, d);
	STAP_PROBE4(demo, small, a, b, c, d);
}

NOINLINE void wide(int a, unsigned b, long c, unsigned long d, void *e)
{
	E(0, a), E(1, b), E(2, c), E(3, d), E(4, e);
	STAP_PROBE5(demo, wide, a, b, c, d, e);
}

NOINLINE void consts(void)
{
	E(0, -5), E(1, 7000000000L), E(2, 255), E(3, 'x'), E(4, 0);
	STAP_PROBE5(demo, consts, -5, 7000000000L, (unsigned char)255, 'x', NULL);
}

NOINLINE void globals(void)
{
	E(0, counter), E(1, visible[1]), E(2, record.c), E(3, record.u), E(4, &counter);
	STAP_PROBE5(demo, globals, counter, visible[1], record.c, record.u, &counter);
	counter++;
}

NOINLINE void member(struct node *n)
{
	E(0, n->key), E(1, n->next), E(2, n->flags[3]), E(3, n->next->key), E(4, n->flags);
	STAP_PROBE5(demo, member, n->key, n->next, n->flags[3], n->next->key, n->flags);
}

NOINLINE void element(int *t, long i, const unsigned char *text)
{
	long local[6];
	memset(local, i, sizeof local);
	E(0, t[i]), E(1, t[i + 2]), E(2, text[i]), E(3, local[i]), E(4, visible[i]);
	STAP_PROBE5(demo, element, t[i], t[i + 2], text[i], local[i], visible[i]);
}

NOINLINE long many(long a, int b, short c, long d, int e, long f, long g, int h)
{
	long x = a * 3, y = d ^ f;
	E(0, a), E(1, b), E(2, c), E(3, d), E(4, e), E(5, f), E(6, g), E(7, h), E(8, x), E(9, y), E(10, x + y), E(11, -1);
	STAP_PROBE12(demo, many, a, b, c, d, e, f, g, h, x, y, x + y, -1);
	return x - y;
}

NOINLINE double floats(float a, double b, const double *c)
{
	expect_float[0] = a, expect_float[1] = b, expect_float[2] = c[1], E(3, 5);
	STAP_PROBE4(demo, floats, a, b, c[1], 5);
	return a + b;
}

NOINLINE void loop(int n)
{
	for (int i = 0; i < n; i++) {
		E(0, i), E(1, n - i);
		STAP_PROBE2(demo, loop, i, n - i);
	}
}

NOINLINE void thread(void)
{
	E(0, per_thread);
	STAP_PROBE1(demo, thread, per_thread);
}

int main(void)
{
	struct node b = {17, NULL, {1, 2, 3, 4}}, a = {-17, &b, {250, 251, 252, 253}};
	int table[8] = {10, -20, 30, -40, 50, -60, 70, -80};
	double d[2] = {0.25, -1e100};
	STAP_PROBE(demo, nothing);
	for (int i = 0; i < 3; i++) {
		small(-1 - i, 200 + i, -30000 + i, 60000 + i);
		wide(-2000000000 + i, 4000000000u + i, -5000000000L - i, ~0UL - i, &a);
		consts();
		globals();
		member(&a);
		element(table, 1 + i, (const unsigned char *)"\xfe\xdc\xba\x98z");
		many(1000 + i, -2, -3, 4L << 40, -5, 6, -7L << 35, 8);
		floats(1.5f + i, 2.25 + i, d);
		loop(i);
		thread();
	}
	return 0;
}
