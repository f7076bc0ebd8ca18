// Results of local functions, which are used or not.
#include <stdio.h>

volatile long sink;

__attribute__((noinline)) static long used(long n) { sink += n; return n * 7 + 3; }
__attribute__((noinline)) static long unused(long n) { sink += n; return n * 7; }
__attribute__((noinline)) static long constant(long n) { sink += n; return 42; }

int main(void)
{
	long sum = 0;
	for (int i = 0; i < 10; i++) {
		sum += used(i) & 1 ? constant(i) : 3;
		unused(i);
	}
	printf("%ld\n", sum);
}
