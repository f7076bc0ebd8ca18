// Vectors of 32 bytes in registers, whole and in parts. Built with -mavx.
#include <stdio.h>

typedef int int8 __attribute__((vector_size(32)));
typedef double double4 __attribute__((vector_size(32)));

__attribute__((noinline)) int sums(int8 w, double4 d, int k)
{
	__asm__ volatile("" ::: "memory");
	return w[3] + w[7] + (int)d[3] + k;
}

int main(void)
{
	int8 w = { 1, -2, 3, -4, 5, -6, 7, -8 };
	double4 d = { 1.5, -2.5, 3.5, -4.5 };
	printf("%d\n", sums(w, d, 100));
	return 0;
}
