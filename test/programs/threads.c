/* Threads that call one function many times: threads THREADS CALLS. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	int id;
	long calls;
	unsigned long sum;
};

__attribute__((noinline)) unsigned long work(struct job *job, long i)
{
	__asm__ volatile("");
	return job->id * 31UL + (unsigned long)i;
}

static void *run(void *arg)
{
	struct job *job = arg;

	for (long i = 0; i < job->calls; i++)
		job->sum += work(job, i);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4;
	long calls = argc > 2 ? atol(argv[2]) : 1000;
	pthread_t *t = calloc(n, sizeof *t);
	struct job *jobs = calloc(n, sizeof *jobs);
	unsigned long sum = 0;

	for (int i = 0; i < n; i++) {
		jobs[i] = (struct job){ .id = i, .calls = calls };
		pthread_create(&t[i], NULL, run, &jobs[i]);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		sum += jobs[i].sum;
	}
	printf("sum %lu\n", sum);
	return 0;
}
