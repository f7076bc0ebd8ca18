/* Calls work of the library that it is linked with, and waits. */
#include <stdio.h>

int work(int), other(int);

int main(void)
{
	printf("%d\n", work(1) + other(1));
	fflush(stdout);
	return getchar() == EOF;
}
