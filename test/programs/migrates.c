// Two threads that call work with numbers that ascend. A line "N M" of standard input has the first call it N times and the second M times, each
// on the CPU that the other one had before. With an argument each call does a system call with the same numbers.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long sum;
static int calls[2], cpus[2], turn, with;
static pthread_barrier_t begin, end;

__attribute__((noinline)) void work(int thread, int i)
{
	sum += thread + i;
	if (with)
		syscall(SYS_getpriority, thread, i);
}

static void *run(void *arg)
{
	int thread = (int)(intptr_t)arg, n = 0;
	for (;;) {
		cpu_set_t set;
		pthread_barrier_wait(&begin);
		CPU_ZERO(&set);
		CPU_SET(cpus[(turn + thread) & 1], &set);
		sched_setaffinity(0, sizeof set, &set);
		for (int i = 0; i < calls[thread]; i++)
			work(thread, n++);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	cpu_set_t set;
	int found = 0;
	with = argc > 1;
	sched_getaffinity(0, sizeof set, &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[found++ ? 1 : 0] = cpu;
	if (found < 2)
		cpus[1] = cpus[0];
	pthread_barrier_init(&begin, NULL, 3);
	pthread_barrier_init(&end, NULL, 3);
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&t, NULL, run, (void *)i);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready 0 of %d\n", found);
	while (scanf("%d %d", &calls[0], &calls[1]) == 2) {
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&end);
		printf("ready %d\n", ++turn);
	}
	return 0;
}
