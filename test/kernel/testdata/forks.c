/*
 * Every byte on standard input makes a child, which prints its number, computes until it is
 * killed, and prints "bad" if a result is wrong.
 */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline, noclone)) long leaf(long a, long b)
{
	return 3 * a - b;
}

int main(void)
{
	char c;

	for (int n = 1; read(0, &c, 1) == 1; n++) {
		if (leaf(n, 1) != 3 * n - 1)
			return 1;
		if (fork())
			continue;
		printf("child %d is %d\n", n, getpid());
		fflush(stdout);
		for (long i = 0;; i++) {
			if (leaf(i, 5) != 3 * i - 5) {
				printf("bad\n");
				return 1;
			}
			if (i % 1000 == 0)
				usleep(100);
		}
	}
	return 0;
}
