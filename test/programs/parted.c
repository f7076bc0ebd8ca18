/* A function of which the compiler puts the unlikely part elsewhere. */
#include <stdio.h>
#include <stdlib.h>

static int kept;

__attribute__((noinline, cold)) static void rare(int n) { kept += n; }

__attribute__((noinline)) static int work(int n)
{
	if (__builtin_expect(n % 100 == 99, 0)) {
		rare(n);
		kept ^= n;
		rare(-n);
	}
	kept += n;
	return kept * 3;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += work(i);
	printf("%d\n", sum);
	return 0;
}
