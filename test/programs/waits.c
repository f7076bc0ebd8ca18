// Says whether SIGCHLD is ignored, and what wait says of a child; exits with status 4.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void work(void) { __asm__ volatile(""); }

int main(void) {
	struct sigaction a;
	int status = 0;
	sigaction(SIGCHLD, 0, &a);
	work();
	pid_t child = fork();
	if (child == 0) {
		work();
		_exit(3);
	}
	pid_t got = waitpid(child, &status, 0);
	printf("%s, %s %x\n", a.sa_handler == SIG_IGN ? "ignored" : "not ignored",
	       got == child ? "child" : errno == ECHILD ? "no child" : "?", status);
	return 4;
}
