/* Functions within functions, with recursion, so that frames of one function are there several times. */
#include <stdio.h>
int plain = 78;
extern int named __attribute__((alias("plain"))); /* no location, but a symbol */
static int outer(int n, int depth)
{
	int total = 10 * n;
	int arr[3] = {1, 2, n};
	int inner(int k)
	{
		int loc = k + total;
		int deep(int z)
		{
			total += z;
			printf("z=%d loc=%d k=%d total=%d n=%d arr={1, 2, %d} named=%d\n", z, loc, k, total, n, arr[2], plain); /* here */
			return total + loc;
		}
		if (depth > 0)
			outer(n + 100, depth - 1);
		return deep(k + 1) + arr[2];
	}
	return inner(n + 2);
}
int main(void) { return outer(7, 2) == 0; }
