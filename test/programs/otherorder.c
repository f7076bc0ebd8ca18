// Numbers that are not what their bytes are on this processor, and, with clang, not all of whose bits count.
#include <stdio.h>

enum sign { minus = -5, plus = 3 };

#ifdef __clang__
struct inner { _BitInt(37) wide; unsigned _BitInt(7) narrow; char plain; };
static struct inner swapped = { -12345678901LL, 100, 'p' };
#else
struct __attribute__((scalar_storage_order("big-endian"))) inner {
	unsigned wide;
	enum sign narrow;
	short list[2];
	unsigned bits : 5;
	double real;
	char plain;
	char text[4];
};
static struct inner swapped = { 0x11223344, minus, { 1, 2 }, 9, 1.5, 'p', "abc" };
#endif

__attribute__((noinline)) int show(struct inner *in, int k)
{
	__asm__ volatile("" ::: "memory");
	return (int)in->wide + (int)in->narrow + k;
}

int main(void)
{
	printf("%d\n", show(&swapped, 7));
	return 0;
}
