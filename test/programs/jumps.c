/* longjmp out of nested calls: jumps ROUNDS. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf top;

__attribute__((noinline, noclone)) int dive(int depth, int out)
{
	__asm__ volatile("");
	if (depth == 0)
		longjmp(top, out);
	return dive(depth - 1, out) + 1;
}

int main(int argc, char **argv)
{
	volatile int rounds = argc > 1 ? atoi(argv[1]) : 100, i;
	volatile long sum = 0;

	for (i = 0; i < rounds; i++) {
		int got = setjmp(top);

		if (got == 0)
			dive(i % 9, i + 1);
		sum += got;
	}
	printf("sum %ld\n", sum);
	return 0;
}
