// forkexec N: threads fork while another thread calls exec, N times. All children must end.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *forks(void *arg) {
	for (;;) {
		if (fork() == 0) _exit(0);
	}
	return 0;
}

int main(int argc, char **argv) {
	int n = atoi(argv[1]);
	if (n == 0) {
		int ended = 0;
		while (wait(0) > 0) ended++;
		printf("all ended: %d\n", errno == ECHILD && ended > 0);
		return 0;
	}
	pthread_t t;
	for (int i = 0; i < 3; i++) pthread_create(&t, 0, forks, 0);
	usleep(1000 + n % 7 * 300);
	char next[16];
	snprintf(next, sizeof next, "%d", n - 1);
	execl(argv[0], argv[0], next, (char *)0);
	return 1;
}
