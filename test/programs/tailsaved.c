// What a function was entered with, where tail calls lead to it from a function that has saved and restored registers.
#include <stdio.h>

struct S {
	int a, b;
};

volatile int sink;

__attribute__((noinline)) int use(int x)
{
	sink += x;
	return sink;
}

__attribute__((noinline)) int last(struct S *p, int x)
{
	volatile int over[16];
	int k = p->a + x;

	for (int i = 0; i < 16; i++)
		over[i] = i;
	k += use(k) + over[3];
	sink += k; // in last
	return k * 3 + sink;
}

__attribute__((noinline)) int through(struct S *q, int a, int b, int c)
{
	int k = use(a) + use(b) + use(c) + a * b * c;

	use(k);
	sink = k;
	return last(q, sink);
}

int main(int argc, char **argv)
{
	struct S s = {7, argc};
	struct S t = {9, argc};
	int sum = 0;

	for (int i = 1; i < 4; i++) {
		sum += through(&s, i, i + 1, sum);
		sum += last(&t, i);
		sum += use(s.b + i);
	}
	return sum == 12345;
}
