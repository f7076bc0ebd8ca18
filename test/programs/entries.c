/* Functions at whose first instruction names are easily resolved wrong: the arguments
 * are changed at once, or the code begins with that of a function inlined into
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile long sink;
static int table[64];

struct pair {
	int a, b;
};

NOINLINE int changed(int rc)
{
	rc++;
	return rc * 2;
}

NOINLINE const char *moved(const char *text, long n)
{
	text += 4;
	n = n * 4 + 1;
	sink = n;
	return text + n;
}

NOINLINE unsigned swapped(unsigned x, unsigned y)
{
	unsigned t = x;
	x = y;
	y = t;
	return x * 3 - y;
}

NOINLINE int narrowed(unsigned char c, short s, _Bool b)
{
	c = c << 1;
	s = s - 1;
	return c + s + b;
}

NOINLINE double scaled(double d, float f)
{
	d = d * 2;
	f = f + 1;
	return d / f;
}

NOINLINE long both(struct pair p, int n)
{
	p.a += n;
	p.b -= n;
	return (long)p.a * p.b;
}

static inline int doubled(int x)
{
	x *= 2;
	sink = x;
	return x;
}

NOINLINE int begins(int a)
{
	return doubled(a + 1);
}

static inline int looked(const int *list, int key)
{
	for (int i = 0; i < 8; i++)
		if (list[i] == key)
			return i;
	return -1;
}

static inline int nested(int key) { return looked(table, key & 31) + 1; }

NOINLINE int deep(int n)
{
	int key = n * 3;
	return nested(key);
}

NOINLINE int same_names(int x, int key)
{
	int i = doubled(key);
	return looked(table, i) + x;
}

NOINLINE int in_a_block(int n)
{
	{
		int inner = n + 5;
		{
			int x = doubled(inner);
			n += x;
		}
	}
	return n;
}

/* gcc splits the cold part off and inlines it again. */
static int cached(int key, int *where)
{
	if (!where)
		return -1;
	if (table[key & 63] == key)
		return key;
	for (int i = 0; i < 64; i++) {
		sink += table[i] ^ key;
		table[i] += *where;
	}
	printf("miss %d\n", key);
	return table[key & 63];
}

NOINLINE int caller(int k) { return cached(k, table + 3) + cached(k + 1, table); }

NOINLINE int recursive(int n, int depth)
{
	depth++;
	return n <= 0 ? depth : recursive(n - 1, depth) + doubled(n);
}

NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	a += h;
	g -= a;
	h = g * b;
	return a + b + c + d + e + f + g + h;
}

NOINLINE void cleared(char *to, size_t n)
{
	memset(to, 0, n);
	to[0] = 'x';
}

int main(void)
{
	char text[64] = "something to move along";
	long sum = 0;

	for (int i = 0; i < 64; i++)
		table[i] = i * 7 % 64;
	for (int i = 0; i < 3; i++) {
		struct pair p = {i, i + 10};
		sum += changed(i) + *moved(text, i & 1) + swapped(i, 40) + narrowed(i + 200, -i, i & 1);
		sum += (long)scaled(i, 0.5f) + both(p, i) + begins(i) + deep(i) + same_names(i, 4) + in_a_block(i);
		sum += caller(i) + recursive(3, i) + many(1, 2, 3, 4, i, 6, 7, 8);
		cleared(text + 40, 8);
	}
	printf("%ld\n", sum);
	return 0;
}
