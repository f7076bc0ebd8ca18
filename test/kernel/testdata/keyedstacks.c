// System calls from stacks that are known: THREADS threads make N each, from one of eight functions in turn. It begins when it gets a
// line. With "fork", each thread is a process that ends.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long n;
static volatile long sink;

#define LEAF(k) __attribute__((noinline)) static void chain##k(void) { sink += getppid(); }
LEAF(0)
#define CHAIN(k, below) __attribute__((noinline)) static void chain##k(void) { chain##below(); sink++; }
CHAIN(1, 0) CHAIN(2, 1) CHAIN(3, 2) CHAIN(4, 3) CHAIN(5, 4) CHAIN(6, 5) CHAIN(7, 6)
static void (*const chains[])(void) = {chain0, chain1, chain2, chain3, chain4, chain5, chain6, chain7};

static void *calls(void *unused)
{
	for (long i = 0; i < n; i++)
		chains[i & 7]();
	return unused;
}

int main(int argc, char **argv)
{
	int threads = atoi(argv[1]);
	n = atol(argv[2]);
	const char *how = argc > 3 ? argv[3] : "";
	pthread_t t[64];
	if (getchar() == EOF)
		return 1;
	if (strcmp(how, "fork") == 0) {
		for (int i = 0; i < threads; i++)
			if (fork() == 0) {
				calls(0);
				_exit(0);
			}
		while (wait(0) > 0)
			;
	} else {
		for (int i = 0; i < threads; i++)
			pthread_create(&t[i], 0, calls, 0);
		for (int i = 0; i < threads; i++)
			pthread_join(t[i], 0);
	}
	puts("done");
	fflush(stdout);
	alarm(300);
	while (getchar() != EOF)
		;
	return 0;
}
