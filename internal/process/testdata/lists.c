// lists [N...]: catches the signals N, or blocks them if N is negative; sleeps until its input ends, and prints
// how many of them came.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int came;
static void on(int sig) { (void)sig; came++; }

int main(int argc, char **argv) {
	sigset_t set;
	sigemptyset(&set);
	for (int i = 1; i < argc; i++) {
		struct sigaction a = {.sa_handler = on, .sa_flags = SA_RESTART};
		if (atoi(argv[i]) < 0)
			sigaddset(&set, -atoi(argv[i]));
		else
			sigaction(atoi(argv[i]), &a, 0);
	}
	sigprocmask(SIG_BLOCK, &set, 0);
	printf("ready\n");
	fflush(stdout);
	char c;
	while (read(0, &c, 1) == 1)
		;
	sigpending(&set);
	for (int i = 1; i < argc; i++)
		if (atoi(argv[i]) < 0)
			came += sigismember(&set, -atoi(argv[i]));
	printf("came %d\n", came);
	return 0;
}
