// Threads that call hit as often as they can, until standard input ends. Then each makes its last calls, whose number is printed.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3 };
static volatile int over;
static volatile uint64_t sum;
static uint64_t calls[THREADS];

// mixed can only be what it is for the other two: a value of another hit is seen.
__attribute__((noinline)) void hit(uint64_t thread, uint64_t n, uint64_t mixed)
{
	sum += thread + n + mixed;
}

static void *run(void *arg)
{
	uint64_t thread = (uintptr_t)arg, n = 0;
	while (!over) {
		n++;
		hit(thread, n, (n * THREADS + thread) * 0x9e3779b97f4a7c15);
	}
	calls[thread] = n;
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	char c;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%lu\n", calls[i]);
	return 0;
}
