// vforkcopy ROUNDS: creates children with a memory of their own, and waits in the kernel for
// the end of each (CLONE_VFORK without CLONE_VM).
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int ok = 0, n = atoi(argv[1]);

	for (int i = 0; i < n; i++) {
		int status;
		pid_t pid = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			_exit(i & 0x7f);
		ok += waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == (i & 0x7f);
	}
	printf("%d\n", ok);
	return 0;
}
