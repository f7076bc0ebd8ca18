// Threads with stacks of their own, each at an address that none had before: many frames. Some leave their call by pthread_exit or
// longjmp. Prints how many calls returned.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define STACK (64 << 10)
static atomic_long returned;
static __thread jmp_buf target;
static int depth;

__attribute__((noinline)) long paired(long n, int how)
{
	if (how == 1)
		pthread_exit(0);
	if (how == 2)
		longjmp(target, 1);
	if (how >= 10) {
		paired(n + 1000000, how - 10);
		__asm__ volatile("" ::: "memory");
	}
	returned++;
	return n;
}

static void *life(void *arg)
{
	long n = (long)arg;
	if (!setjmp(target))
		paired(n, n % 8 == 2 ? 2 : n % 8 == 3 ? 1 : 10 * depth);
	return 0;
}

int main(int argc, char **argv)
{
	long lives = argc > 1 ? atol(argv[1]) : 1000;
	depth = argc > 2 ? atoi(argv[2]) : 1;
	char *stacks = mmap(0, lives * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED)
		return 1;
	for (long n = 0; n < lives; n++) {
		pthread_attr_t a;
		pthread_t t;
		char *stack = stacks + n * STACK;
		mmap(stack, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		pthread_attr_init(&a);
		pthread_attr_setstack(&a, stack, STACK);
		if (pthread_create(&t, &a, life, (void *)n) || pthread_join(t, 0))
			return 1;
		munmap(stack, STACK);
	}
	printf("%ld\n", returned);
}
