// Waits in three calls of one function for a byte, and then calls it again.
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int waits(int n, int block)
{
	char c = 'w';
	if (n > 0)
		waits(n - 1, block);
	else if (block && (write(1, &c, 1) != 1 || read(0, &c, 1) != 1))
		return -1;
	return n;
}

int main(void)
{
	waits(2, 1);
	waits(2, 0);
	return 0;
}
