// clonechild MODE: clones that are neither threads nor forks.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long shared, go;

__attribute__((noinline)) long target(long x) {
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

static int calls(void *arg) {
	shared += target((long)arg);
	return 7;
}

static int killed(void *arg) {
	shared += target((long)arg); // no breakpoint is in a copy
	syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
	return 8;
}

static int waits(void *arg) {
	shared = 1;
	while (!go) usleep(100);
	return 9;
}

static int runs(void *arg) {
	execl("/bin/true", "true", NULL);
	return 10;
}

static int make(int (*f)(void *), int flags) {
	static char stacks[4][65536] __attribute__((aligned(16)));
	static int n;
	int pid = clone(f, stacks[n] + sizeof stacks[n], flags, (void *)5L, NULL, NULL, NULL);
	n++;
	if (pid < 0) perror("clone");
	return pid;
}

static int wait_for(int pid) {
	int status = -1;
	if (waitpid(pid, &status, __WALL) != pid) return -1;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv) {
	setvbuf(stdout, NULL, _IONBF, 0);
	const char *mode = argv[1];
	int r = -1;
	if (!strcmp(mode, "shares")) r = wait_for(make(calls, CLONE_VM | CLONE_FILES));
	if (!strcmp(mode, "copy")) r = wait_for(make(killed, CLONE_FILES));
	if (!strcmp(mode, "execs")) r = wait_for(make(runs, CLONE_VM));
	if (!strcmp(mode, "outlives")) { // the process ends first
		make(waits, CLONE_VM);
		target(1);
		return 3;
	}
	if (!strcmp(mode, "replaced")) { // the process calls exec
		make(waits, CLONE_VM);
		while (!shared) usleep(100); // a clone that has not run is no longer reported
		execl("/bin/true", "true", NULL);
	}
	printf("%d %ld\n", r, shared);
	return 0;
}
