/* A stack with an inlined function in the middle: innermost first inner, middle (inlined), outer, main. */
#include <stdio.h>
#include <stdlib.h>

volatile int sink;

__attribute__((noinline)) void inner(int n)
{
	sink += n;
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void middle(int n)
{
	inner(n + 1);
	sink++;
}

__attribute__((noinline)) void outer(int n)
{
	middle(2 * n);
	sink++;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	for (int i = 0; i < n; i++)
		outer(i);
	printf("%d\n", sink);
	return 0;
}
