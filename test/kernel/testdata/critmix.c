/* Threads that wait for each other in many ways: a mutex, a condition variable, a pipe from another process, a pair of sockets, the disk,
   nanosleep, a timer's descriptor. Prints for the first thread its number, when it began and ended (CLOCK_MONOTONIC), its time on CPUs, and
   the time for which it waited for one by the kernel's account (schedstat), in nanoseconds: critmix FILE. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t begun;
static int asked, done, sockets[2];

static long at(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void compute(long us)
{
	long from = at(CLOCK_THREAD_CPUTIME_ID);
	while (at(CLOCK_THREAD_CPUTIME_ID) - from < us * 1000)
		;
}

static void nap(long us)
{
	struct timespec t = { 0, us * 1000 };
	nanosleep(&t, NULL);
}

static void *holds(void *p)
{
	pthread_setname_np(pthread_self(), "holds");
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&begun);
		compute(2000);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&begun);
	}
	return p;
}

static void *signals(void *p)
{
	pthread_setname_np(pthread_self(), "signals");
	pthread_mutex_lock(&turn);
	for (int i = 0; i < ROUNDS; i++) {
		while (asked <= i)
			pthread_cond_wait(&changed, &turn);
		pthread_mutex_unlock(&turn);
		nap(1000);
		compute(500);
		pthread_mutex_lock(&turn);
		done = i + 1;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&turn);
	return p;
}

static void *answers(void *p)
{
	char c;
	pthread_setname_np(pthread_self(), "answers");
	while (read(sockets[1], &c, 1) == 1 && c) {
		compute(300);
		nap(300);
		if (write(sockets[1], &c, 1) != 1)
			return NULL;
	}
	return p;
}

static long delayed(void)
{
	long run, delay = -1;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	if (f && fscanf(f, "%ld %ld", &run, &delay) != 2)
		delay = -1;
	if (f)
		fclose(f);
	return delay;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	int there[2], back[2], file = argc > 1 ? open(argv[1], O_CREAT | O_WRONLY, 0600) : -1;
	char c = 1, block[8192];
	if (file < 0 || pipe(there) || pipe(back) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	memset(block, 1, sizeof block);
	pid_t child = fork();
	if (!child) {
		close(there[1]);
		close(back[0]);
		while (read(there[0], &c, 1) == 1) {
			compute(700);
			if (write(back[1], &c, 1) != 1)
				return 1;
		}
		return 0;
	}
	close(there[0]);
	close(back[1]);
	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&t[0], NULL, holds, NULL);
	pthread_create(&t[1], NULL, signals, NULL);
	pthread_create(&t[2], NULL, answers, NULL);
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	long delay = delayed(), cpu = at(CLOCK_THREAD_CPUTIME_ID), from = at(CLOCK_MONOTONIC);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&begun);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&begun);
		pthread_mutex_lock(&turn);
		asked = i + 1;
		pthread_cond_broadcast(&changed);
		while (done <= i)
			pthread_cond_wait(&changed, &turn);
		pthread_mutex_unlock(&turn);
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
		if (write(sockets[0], &c, 1) != 1 || read(sockets[0], &c, 1) != 1)
			return 1;
		if (pwrite(file, block, sizeof block, 0) != sizeof block || fsync(file))
			return 1;
		nap(500);
		struct itimerspec in = { .it_value = { 0, 700000 } };
		unsigned long n;
		if (timerfd_settime(timer, 0, &in, NULL) || read(timer, &n, sizeof n) != sizeof n)
			return 1;
		compute(2000);
	}
	long to = at(CLOCK_MONOTONIC);
	printf("%d %ld %ld %ld %ld\n", getpid(), from, to, at(CLOCK_THREAD_CPUTIME_ID) - cpu, delayed() - delay);
	fflush(stdout);
	c = 0;
	if (write(sockets[0], &c, 1) != 1)
		return 1;
	close(there[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	waitpid(child, NULL, 0);
	return 0;
}
