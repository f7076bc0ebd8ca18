// Forks until standard input ends. The first children live as long as it does; the others end at once. Each child's number is printed,
// then "end" and how many live.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVE = 200, MOST = 200000 };

int main(void)
{
	static pid_t pids[MOST];
	struct pollfd in = {0, POLLIN, 0};
	int n = 0;
	puts("ready");
	fflush(stdout);
	while (n < MOST) {
		pid_t pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (n < LIVE)
				pause();
			_exit(0);
		}
		if (pid < 0)
			return 1;
		pids[n++] = pid;
		if (n > LIVE)
			waitpid(pid, NULL, 0);
		if (n >= LIVE && poll(&in, 1, 0) > 0)
			break;
	}
	for (int i = 0; i < n; i++)
		printf("%d\n", pids[i]);
	printf("end %d\n", LIVE);
	fflush(stdout);
	for (int i = 0; i < LIVE; i++)
		kill(pids[i], SIGKILL);
	return 0;
}
