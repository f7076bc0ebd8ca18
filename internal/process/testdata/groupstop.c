// groupstop: counts SIGCONT, echoes lines; two more threads count.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile long conts, ticks[2];
static void on_cont(int sig) { conts++; }
static void *body(void *arg) { for (;;) ++*(volatile long *)arg; }
int main(void) {
	struct sigaction sa = {.sa_handler = on_cont, .sa_flags = SA_RESTART};
	sigaction(SIGCONT, &sa, 0);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	pthread_t t;
	pthread_sigmask(SIG_BLOCK, &set, 0);
	for (int i = 0; i < 2; i++) pthread_create(&t, 0, body, (void *)&ticks[i]);
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	printf("ready\n");
	fflush(stdout);
	char line[100];
	while (fgets(line, sizeof line, stdin)) {
		printf("conts %ld line %s", conts, line);
		fflush(stdout);
	}
	return 0;
}
