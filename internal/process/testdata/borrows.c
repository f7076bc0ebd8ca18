// borrows FLAGS MS: creates a child with some flags of clone, v = CLONE_VFORK, m = CLONE_VM,
// which sleeps for MS, or until it reads a byte if MS is 0; writes the child's status.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ms;
static char stack[65536];

static int child(void *arg)
{
	write(1, "child\n", 6);
	if (ms)
		usleep(ms * 1000);
	else
		read(0, arg, 1);
	_exit(7);
}

int main(int argc, char **argv)
{
	int flags = SIGCHLD, status = 0;

	ms = atoi(argv[2]);
	if (strchr(argv[1], 'v'))
		flags |= CLONE_VFORK;
	if (strchr(argv[1], 'm'))
		flags |= CLONE_VM;
	waitpid(clone(child, stack + sizeof stack, flags, stack), &status, 0);
	printf("status %x\n", status);
	fflush(stdout);
	if (argc > 3)
		getchar();
	return 0;
}
