// Threads count in a restartable sequence; the number of lost counts is printed. sequence N:
// N times each thread. With OWN the threads register with a signature of their own
// (to be run with GLIBC_TUNABLES=glibc.pthread.rseq=0).
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4

extern const ptrdiff_t __rseq_offset;
int count(void *, char *, void *);
void *describe(void *);

static char counters[4096 * 64] __attribute__((aligned(64)));
static long rounds;

static void *work(void *arg)
{
	char made[64] __attribute__((aligned(32)));
	void *cs = describe(made);
#ifdef OWN
	static __thread struct { char b[32]; } area __attribute__((aligned(32)));
	void *rs = &area;
	if (syscall(SYS_rseq, rs, 32, 0, SIGNATURE) != 0)
		abort();
#else
	void *rs = (char *)__builtin_thread_pointer() + __rseq_offset;
#endif
	for (long i = 0; i < rounds; i++)
		while (count(rs, counters, cs) != 0)
			;
	memset((char *)rs + 8, 0, 8);
#ifdef OWN
	syscall(SYS_rseq, rs, 32, 1, SIGNATURE);
#endif
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	long sum = 0;
	rounds = argc > 1 ? atol(argv[1]) : 100000;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < sizeof counters; i += 64)
		sum += *(long *)(counters + i);
	printf("%ld of %ld lost\n", THREADS * rounds - sum, THREADS * rounds);
	return 0;
}
