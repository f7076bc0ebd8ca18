// peak FILE PROGRAM ARGS...: runs a program, ends as it ends, and writes to FILE how many KiB of memory it had at most.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	if (argc < 3)
		return 125;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[2], argv + 2);
		_exit(126);
	}
	signal(SIGINT, SIG_IGN); // of the terminal: for the program
	int status;
	struct rusage used;
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 125;
	FILE *f = fopen(argv[1], "w");
	if (!f || fprintf(f, "%ld\n", used.ru_maxrss) < 0 || fclose(f))
		return 125;
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}
