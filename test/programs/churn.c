/* Threads that come and go all the time: churn THREADS. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline, noclone)) long visit(long i)
{
	__asm__ volatile("");
	return i * 7 + 1;
}

static void *run(void *arg)
{
	long i = (long)arg;

	return (void *)(visit(i) + visit(i + 1));
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000, sum = 0;

	for (long i = 0; i < n; i += 4) {
		pthread_t t[4];
		void *r;

		for (long k = 0; k < 4; k++)
			if (pthread_create(&t[k], NULL, run, (void *)(i + k)))
				return 1;
		for (long k = 0; k < 4; k++) {
			pthread_join(t[k], &r);
			sum += (long)r;
		}
	}
	printf("sum %ld\n", sum);
	return 0;
}
