/* Functions with different variables. */
#include <stdio.h>

__attribute__((noinline)) int one(int n)
{
	int a = n + 1;

	__asm__ volatile("" : "+r"(a));
	return a;
}

__attribute__((noinline)) int two(int m)
{
	__asm__ volatile("" : "+r"(m));
	return m * 3;
}

int main(void)
{
	int s = 0;

	for (int i = 0; i < 3; i++)
		s += one(i) + two(i + 10);
	printf("%d\n", s);
	return 0;
}
