// A function that gcc inlines and also keeps: it describes one of the kept copy's calls of leaf in the entry without an
// address.
#include <stdio.h>
#include <stdlib.h>

int sink;

__attribute__((noinline)) static int leaf(int a, int b)
{
	sink += a - b;
	__asm__ volatile("" ::: "memory", "rdi", "rsi");
	return sink; // look here
}

static int bad(int e) { return e > 1000; }

#define FORWARD(x) { int const err_code = (x); if (bad(err_code)) return err_code; }

int mid(int x, int y)
{
	if (!x)
		return 0;
	{
		FORWARD(leaf(y, x * 3));
	}
	{
		int k = leaf(x, y);
		sink += k;
	}
	return sink;
}

__attribute__((noinline)) int other(int x) { return mid(x, 3) + 1; }

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), (*p)(int, int) = mid;
	int first = p(n, argc), second = other(n + 1);
	__asm__("" : "+r"(p));
	printf("%d %d %d\n", first, second, p(n, 4));
	return 0;
}
