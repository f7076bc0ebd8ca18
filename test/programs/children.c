/*
 * A program with children of every kind: children ROUNDS. Each way of making one
 * is followed by the same calculation in parent and child.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline, noclone)) int step(int n, int k)
{
	__asm__ volatile("");
	return n * 31 + k;
}

static int status_of(pid_t pid)
{
	int st = -1;

	if (pid < 0 || waitpid(pid, &st, 0) != pid)
		return -1;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

static int work(int from)
{
	int n = from;

	for (int i = 0; i < 100; i++)
		n = step(n, i);
	return n;
}

static int by_fork(int i)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(work(i) & 0x7f);
	return status_of(pid);
}

static int by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(99);
	}
	return status_of(pid);
}

static int by_spawn(void)
{
	char *argv[] = { "sh", "-c", "exit 6", NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		return -1;
	return status_of(pid);
}

static int by_popen(void)
{
	char line[64] = "";
	FILE *f = popen("echo popen-works", "r");

	if (!f || !fgets(line, sizeof line, f))
		return -1;
	return pclose(f) == 0 && !strcmp(line, "popen-works\n");
}

/* A child that gets a signal, and a grandchild. */
static int by_signal(int i)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (by_fork(i) < 0)
			_exit(1);
		work(i);
		raise(SIGTERM);
	}
	return status_of(pid);
}

static int child_main(void *arg)
{
	return work((int)(long)arg) & 0x7f;
}

/* clone without threads' flags, on a stack of its own */
static int by_clone(int i)
{
	static char stack[65536] __attribute__((aligned(16)));

	return status_of(clone(child_main, stack + sizeof stack, SIGCHLD, (void *)(long)i));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5;

	for (int i = 0; i < rounds; i++) {
		printf("%d %d\n", i, work(i));
		printf("fork %d\n", by_fork(i));
		printf("vfork %d\n", by_vfork());
		printf("spawn %d\n", by_spawn());
		printf("system %d\n", WEXITSTATUS(system("exit 7")));
		printf("popen %d\n", by_popen());
		printf("signal %d\n", by_signal(i));
		printf("clone %d\n", by_clone(i));
		fflush(stdout);
	}
	if (argc > 2) {
		fflush(stdout);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 99;
	}
	return 0;
}
