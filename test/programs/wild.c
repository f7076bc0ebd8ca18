/* Invalid pointers; a tracer that reads through them must not harm the program. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct item {
	int value;
	struct item *next;
	const char *name;
};

__attribute__((noinline)) long visit(struct item *p, long n)
{
	__asm__ volatile("" : : "r"(p) : "memory");
	return n * 3;		/* visit:body */
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100, sum = 0;
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct item good = { 5, NULL, "good" };
	struct item *wild[] = {
		&good,
		NULL,
		(struct item *)8,
		(struct item *)0x4141414141414141,	/* not canonical */
		(struct item *)0xffffffff80000000,	/* the kernel's */
		(struct item *)0x12345000,		/* not mapped */
		(struct item *)(two + 4096 - 4),	/* its first member is readable, the second is not */
	};

	munmap(two + 4096, 4096);
	*(int *)(two + 4092) = 99;
	for (long i = 0; i < rounds; i++)
		sum += visit(wild[i % 7], i);
	printf("sum %ld\n", sum);
	return 0;
}
