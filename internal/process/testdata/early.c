/* A preloaded library that does what EARLY says before the program's own first instruction (heldentry_test.go). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void early(void)
{
	const char *what = getenv("EARLY");

	unsetenv("LD_PRELOAD");
	if (!strcmp(what, "signal"))
		kill(getpid(), SIGUSR1);
	if (!strcmp(what, "trap"))
		kill(getpid(), SIGTRAP);
	if (!strcmp(what, "exit"))
		_exit(9);
	if (!strcmp(what, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)0);
	if (!strcmp(what, "stop")) {
		pid_t self = getpid();

		if (!fork()) { /* SIGCONT before SIGSTOP would be lost, so it is repeated */
			for (int i = 0; i < 20; i++) {
				usleep(50000);
				kill(self, SIGCONT);
			}
			_exit(0);
		}
		kill(self, SIGSTOP);
	}
	if (!strcmp(what, "fork")) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, 0, 0);
	}
}
