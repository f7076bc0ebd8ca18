#include <alloca.h>
#include <stdio.h>

volatile int sunk;

__attribute__((noinline)) void sink(void *p)
{
	sunk += *(volatile char *)p;
}

// Its end releases the frame before it pops registers.
__attribute__((noinline)) long big(int n, long a, long b)
{
	long far[40], x = a * 3, y = b + 7, z = a ^ b, w = a + b;
#ifdef ALIGNED
	long aligned[8] __attribute__((aligned(64)));
#else
	long aligned[8];
#endif
	for (int i = 0; i < 40; i++)
		far[i] = i * a + b;
	for (int i = 0; i < 8; i++)
		aligned[i] = far[i] + 1;
	char *p = alloca(n + 16);
	p[0] = n;
	sink(p), sink(far), sink(aligned), sink(&x), sink(&y), sink(&z), sink(&w);
	long r = x + y * 2 + z * 3 + w * 5 + far[n] + aligned[n & 7];
	sink(&r);
	return r + x * y + z * w + n * a + (a ^ b) + (b & n) + (long)p % 16;
}

int main(void)
{
	for (int i = 0; i < 20; i++)
		printf("%ld\n", big(i, i + 3, i * 5));
}
