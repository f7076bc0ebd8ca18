// Measures its own calls.
#include <stdio.h>
#include <time.h>

struct pair { int a, b; } pair;
long inside;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

__attribute__((noinline)) int slow(int n, long ns)
{
	long from = now();
	do
		inside = now() - from;
	while (inside < ns);
	pair.a = n;
	__asm__ volatile("nop; nop; nop; nop; nop; nop");
	return n;
}

// again begins with its loop.
int again(int n);
__asm__(".text\n.globl again\n.type again,@function\nagain:\n\taddl $-1, %edi\n\tjg again\n\tmovl %edi, %eax\n\tnop\n\tnop\n\tnop\n\tret\n.size again,.-again\n");

int main(void)
{
	for (int i = 0; i < 40; i++)
		slow(i, i % 2 ? 400000 : 0);
	printf("%d\n", again(5));
	return 0;
}
