/* Parameters whose registers have other values by the line that is traced: what they were is known from the
 * callers (test/callers_test.go). */
#include <stdlib.h>

volatile long sink, rounds;

__attribute__((noinline)) void touch(long x) { sink += x; }

__attribute__((noinline)) void leaf(long a, long b)
{
	touch(a + b);
	touch(2); /* leaf */
	sink++;
}

/* A value that rests on the caller's own. */
__attribute__((noinline)) void middle(long n)
{
	leaf(n + 1, 50);
	touch(3);
	sink++;
}

/* One tail call leads to leaf. */
__attribute__((noinline)) void single(long n)
{
	touch(n);
	leaf(300, 301);
}

/* One of two, which have the same return address. */
__attribute__((noinline)) void either(long n)
{
	if (n > 4) {
		touch(n);
		leaf(400, 401);
	} else {
		touch(5);
		leaf(500, 501);
	}
}

/* What it is called with is not what it was called with at first. */
__attribute__((noinline)) void other(void);

__attribute__((noinline)) void again(long a, long b)
{
	touch(a + b);
	touch(7); /* again */
	if (rounds++ < 3)
		other();
}

__attribute__((noinline)) void other(void)
{
	touch(6);
	again(1, 2);
}

struct pair {
	long x, y;
};

/* Memory of the caller. */
__attribute__((noinline)) void through(struct pair *p)
{
	touch(p->x);
	touch(9); /* through */
	sink++;
}

int main(int argc, char **argv)
{
	long keep = argc + 40;
	struct pair here = {keep, 77};
	leaf(7, 8);
	touch(keep);
	leaf(keep, keep * 2);
	middle(100);
	middle(keep);
	single(1);
	touch(11);
	either(argc);
	touch(12);
	again(20, 21);
	touch(13);
	through(&here);
	touch(here.x + keep);
	return 0;
}
