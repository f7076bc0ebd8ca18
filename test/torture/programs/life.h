/*
 * Common parts of the programs of lives: PROGRAM NAME runs the life of that name, and
 * prints how often it called step. Without a name it lists the lives. With LIFE_WAIT
 * in the environment it first prints "ready" and waits for a byte, so that a tracer can
 * attach.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static long steps;

/* The function whose hits are counted. */
NOINLINE long step(long n, long k)
{
	__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
	return n * 31 + k;
}

/* The same for children and for code that runs an unknown number of times. */
NOINLINE long quiet(long n, long k)
{
	__asm__ volatile("");
	return n * 31 + k;
}

static NOINLINE long work(long n)
{
	for (int i = 0; i < 8; i++)
		n = step(n, i) & 0xffffff;
	return n;
}

static NOINLINE long quiet_work(long n)
{
	for (int i = 0; i < 8; i++)
		n = quiet(n, i) & 0xffffff;
	return n;
}

/* How a child ended: its status, or 1000 and the signal. */
static int status_of(pid_t pid)
{
	int st;

	if (pid < 0)
		return -errno;
	while (waitpid(pid, &st, __WALL) != pid)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

static void say(const char *what, long v)
{
	printf("%s %ld\n", what, v);
	fflush(stdout);
}

static void say_steps(void)
{
	say("steps", steps);
}

struct life {
	const char *name;
	int (*live)(void);
};

static int lead(int argc, char **argv, const struct life *lives)
{
	char c;

	if (argc < 2) {
		for (; lives->name; lives++)
			puts(lives->name);
		return 0;
	}
	if (!strcmp(argv[1], "after-exec")) {
		say("after exec", quiet_work(argc) & 0x7f);
		return 23;
	}
	for (; lives->name; lives++) {
		if (strcmp(lives->name, argv[1]))
			continue;
		if (getenv("LIFE_WAIT")) {
			printf("ready\n");
			fflush(stdout);
			if (read(0, &c, 1) != 1)
				return 99;
		}
		int status = lives->live();
		say_steps();
		return status;
	}
	return 98;
}
