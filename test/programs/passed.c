/* Functions that change their parameters before any instruction uses the passed values.
 * main prints the values that it passes. */
#include <stdio.h>

int sink;
#define NOINLINE __attribute__((noinline))

NOINLINE int use(int x, int y) { sink += x; return x ^ y; }
NOINLINE int raised(int rc, int k) { rc++; return use(rc, k); }
NOINLINE int copied(int rc, int k) { k = rc; return use(rc, k); }
NOINLINE int fixed(int rc, int k) { int c = rc + 1; rc = 7; sink = c + rc + k; k = rc; return c + k; }
NOINLINE int several(int rc, long s, unsigned char c) { s++; rc += 3; c++; return use(rc + s, c); }
NOINLINE int leaf(long a, long b) { a += 5; b = a * 2; return sink = a + b; }
struct pair { long a, b; };
NOINLINE long whole(struct pair v, int k) { v.a++; return use(k, v.b) + v.a; }
NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h) { g++; f += a; h = b; return use(a + b + c + d, e + f + g + h); }
NOINLINE static int local(int dead, int rc, int k) { rc = k; k += 3; return use(k, rc); }
NOINLINE static int raised_local(int rc, int k) { rc++; return use(rc, k) + 1; }

int main(int argc, char **argv)
{
	struct pair v = {argc + 40, argc + 41};
	for (int i = argc; i < argc + 3; i++) {
		printf("raised rc=%d k=%d\n", i, i + 8);
		raised(i, i + 8);
		printf("copied rc=%d k=%d\n", i + 1, i + 9);
		copied(i + 1, i + 9);
		printf("fixed rc=%d k=%d\n", i + 2, i + 10);
		fixed(i + 2, i + 10);
		printf("several rc=%d s=%d c=%d\n", i + 3, i + 70, i + 200);
		several(i + 3, i + 70, i + 200);
		printf("leaf a=%d b=%d\n", i + 4, i + 12);
		leaf(i + 4, i + 12);
		printf("whole k=%d\n", i + 5);
		whole(v, i + 5);
		printf("many a=%d b=%d c=%d d=%d e=%d f=%d g=%d h=%d\n", i + 6, i + 13, i + 14, i + 15, i + 16, i + 17, i + 18, i + 19);
		many(i + 6, i + 13, i + 14, i + 15, i + 16, i + 17, i + 18, i + 19);
		printf("local dead=%d rc=%d k=%d\n", i + 7, i + 20, i + 30);
		local(i + 7, i + 20, i + 30);
		printf("raised_local rc=%d k=%d\n", i + 21, i + 31);
		raised_local(i + 21, i + 31);
	}
	return 0;
}
