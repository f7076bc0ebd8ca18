/* A place where no jump fits: slow CALLS [fork]. The nop at slow_site has one byte, the
 * loop jumps back to the code after it, and a punned jump would leave the address space. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct point {
	int x;
	double y;
	const char *name;
};

static struct point points[3] = {{1, 0.5, "one"}, {2, -1.25, "two"}, {3, 1e30, NULL}};
long total;

__attribute__((noipa)) long slow(long n, struct point *p)
{
	__asm__ volatile(".globl slow_site\n"
			 "slow_site: nop\n"
			 "1: mov %%rax, %%rax\n"
			 "	sub $1, %%eax\n"
			 "	jns 1b\n"
			 : : "a"(2), "D"(n), "S"(p) : "cc");
	total += n * p->x;
	return total;
}

static void calls(long n)
{
	for (long i = 0; i < n; i++)
		slow(i, &points[i % 3]);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 3;

	calls(n);
	if (argc > 2) {
		fflush(stdout);
		if (fork() == 0) {
			calls(n);
			_exit(0);
		}
		wait(NULL);
	}
	printf("total %ld\n", total);
	return 0;
}
