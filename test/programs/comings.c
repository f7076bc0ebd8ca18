/* Threads that start and end until SIGTERM: comings CREATORS [leave]. With leave main's
 * thread ends, and the others continue. At the end it prints the number of wrong results. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long wrong;

__attribute__((noinline, noclone)) long visit(long i)
{
	__asm__ volatile("");
	return i * 7 + 1;
}

static void *leaf(void *arg)
{
	long i = (long)arg;

	if (visit(i) != i * 7 + 1)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *create(void *arg)
{
	for (long i = 0;; i++) {
		pthread_t t[3];

		for (int k = 0; k < 3; k++)
			if (pthread_create(&t[k], NULL, leaf, (void *)(i + k)))
				exit(2);
		for (int k = 0; k < 3; k++)
			pthread_join(t[k], NULL);
	}
	return arg;
}

static void *end(void *arg)
{
	sigset_t *set = arg;
	int sig;

	sigwait(set, &sig);
	printf("wrong %ld\n", wrong);
	exit(0);
}

int main(int argc, char **argv)
{
	static sigset_t set;
	pthread_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, end, &set);
	for (int k = 0; k < (argc > 1 ? atoi(argv[1]) : 3); k++)
		pthread_create(&t, NULL, create, NULL);
	puts("ready");
	fflush(stdout);
	if (argc > 2)
		pthread_exit(NULL);
	for (;;)
		pause();
}
