// Threads report when and where they are: clocks N, calls of each. Threads come one after another, on each
// other's stacks.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

volatile int total;
static int rounds;

__attribute__((noipa)) int work(long ns, int tid, int n) { return (int)ns + tid + n + total; }

static void *run(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		work(t.tv_sec * 1000000000 + t.tv_nsec, gettid(), i);
		if (i % 100 == 99)
			usleep(1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	rounds = argc > 1 ? atoi(argv[1]) : 1000;
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, run, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	}
	return 0;
}
