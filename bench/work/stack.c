/* stack.c - a function called by others, so that its stack has 10 frames: site, 5 callers, main, two of libc, _start.
 *
 *   stack site|tiny N REPS [GAP_MS]
 *
 * tiny has no room for a jump, and becomes a uprobe. REPS 0: for ever.
 * Prints "ns X.XXX" (ns per call of the first caller) for each of REPS batches, after one unreported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

__asm__(".text\n.globl tiny\n.type tiny,@function\n.p2align 4\ntiny: .cfi_startproc\n nop\n ret\n.cfi_endproc\n.size tiny,.-tiny\n"
	".globl next\n.type next,@function\nnext: .cfi_startproc\n mov $1,%eax\n ret\n.cfi_endproc\n.size next,.-next\n");
void tiny(int n);

static volatile int sink;

NOINLINE void site(int n)
{
	sink += n;
	__asm__ volatile("" ::: "memory");
}

#define CALLER(f, g) NOINLINE static void f(int n) { g(n); sink++; }
CALLER(a5, site) CALLER(a4, a5) CALLER(a3, a4) CALLER(a2, a3) CALLER(a1, a2)
CALLER(b5, tiny) CALLER(b4, b5) CALLER(b3, b4) CALLER(b2, b3) CALLER(b1, b2)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	volatile char above[16384]; /* a copy of 8 KiB must not reach the end of the stack, which costs a fault */
	int small = argc > 1 && !strcmp(argv[1], "tiny");
	long n = argc > 2 ? atol(argv[2]) : 1000;
	int reps = argc > 3 ? atoi(argv[3]) : 7;
	int gap = argc > 4 ? atoi(argv[4]) : 0;

	above[0] = above[sizeof above - 1] = 0;
	for (int r = -1; !reps || r < reps; r++) {
		double start = now();
		for (long i = 0; i < n; i++) {
			if (small)
				b1(i);
			else
				a1(i);
		}
		double end = now();
		if (r >= 0 && reps)
			printf("ns %.3f\n", (end - start) / n);
		usleep(gap * 1000);
	}
	return 0;
}
