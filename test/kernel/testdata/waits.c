/* Waits of known causes: the first thread sleeps, waits for a mutex that another thread holds while it computes, and for a pipe into which
   a child writes when it has slept. Those begin when the first thread is really blocked. Prints the numbers of the threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static pid_t first, holder;

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&t, NULL);
}

/* asleep waits until the first thread is blocked. */
static void asleep(void)
{
	char name[64], text[512], *end;
	snprintf(name, sizeof name, "/proc/%d/task/%d/stat", first, first);
	for (;;) {
		FILE *f = fopen(name, "r");
		size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
		if (f)
			fclose(f);
		text[n] = 0;
		if ((end = strrchr(text, ')')) && end[2] == 'S')
			return;
		sched_yield();
	}
}

static void *hold(void *p)
{
	struct timespec from, t;
	holder = syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), "holder");
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&held);
	asleep();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((t.tv_sec - from.tv_sec) * 1000000000L + t.tv_nsec - from.tv_nsec < 100000000);
	pthread_mutex_unlock(&lock);
	return p;
}

int main(void)
{
	int ends[2];
	char c;
	pthread_t t;
	first = getpid();
	nap(100);
	pthread_barrier_init(&held, NULL, 2);
	pthread_create(&t, NULL, hold, NULL);
	pthread_barrier_wait(&held);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	if (pipe(ends))
		return 1;
	pid_t child = fork();
	if (!child) {
		asleep();
		nap(80);
		return write(ends[1], "x", 1) != 1;
	}
	if (read(ends[0], &c, 1) != 1)
		return 1;
	waitpid(child, NULL, 0);
	printf("%d %d %d\n", first, holder, child);
	return 0;
}
