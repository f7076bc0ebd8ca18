// A hostile traced program. A sibling process that shares only the descriptor table, and
// so is not stopped with the program, puts the file of argv[1] (opened O_PATH where it
// may not be read, else read-write) over every descriptor that appears, as fast as it can.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *victim;
static char stack[65536] __attribute__((aligned(16)));

static int sibling(void *arg)
{
	int fd = open(victim, O_RDWR);

	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0)
		fd = open(victim, O_PATH);
	if (fd < 0)
		_exit(1);
	for (;;)
		for (int i = fd + 1; i < fd + 8; i++)
			if (fcntl(i, F_GETFD) >= 0)
				dup3(fd, i, O_CLOEXEC);
}

// Its first instructions have room for a jump, so it is traced by code in the process.
__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("mov $0x12345678, %%edx" ::: "edx", "memory");
	return n + 1;
}

int main(int argc, char **argv)
{
	int n = 0;

	(void)argc;
	victim = argv[1];
	if (clone(sibling, stack + sizeof stack, CLONE_FILES | SIGCHLD, NULL) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		n = work(n);
}
