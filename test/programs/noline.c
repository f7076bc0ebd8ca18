/* Lines without code, in a function and between two. */
#include <stdio.h>

static int first(int n)
{
	int a = n + 1;

	/* this line has no code, but the function goes on */
	a *= 2;
	return a;
}

/* this line is in no function */

static int second(int m)
{
	return m * 3;
}

static inline __attribute__((always_inline)) int copied(int k)
{
	int b = k;
	/* no code */
	b += 5;
	return b;
}

int main(void)
{
	int s = 0;
	for (int i = 0; i < 4; i++)
		s += first(i) + second(i) + copied(i) + copied(i + 1);
	printf("%d\n", s);
	return 0;
}
