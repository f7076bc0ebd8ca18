/*
 * Threads that set their names before their only calls: named THREADS.
 * With a further argument the first thread waits for the end of its input.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

__attribute__((noinline)) void work(long id)
{
	__asm__ volatile("" : : "r"(id) : "memory");
}

static void *run(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "worker%ld", (long)arg);
	prctl(PR_SET_NAME, name);
	work((long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	pthread_t thread;

	prctl(PR_SET_NAME, "worker0");
	work(0);
	if (argc > 2)
		getchar();
	for (long i = 1; i < n; i++) {
		pthread_create(&thread, NULL, run, (void *)i);
		pthread_join(thread, NULL);
	}
	return 0;
}
