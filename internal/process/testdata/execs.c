// execs N WHO: calls exec of itself N times, from the leader (l), from another
// thread (t), with several threads around.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **args;
static void again(void) {
	char n[20];
	snprintf(n, sizeof n, "%d", atoi(args[1]) - 1);
	execl(args[0], args[0], n, args[2], (char *)0);
	perror("exec");
	_exit(1);
}
static void *idle(void *arg) { for (;;) pause(); }
static void *spin(void *arg) { for (volatile long i = 0;; i++); }
static void *caller(void *arg) { again(); return 0; }
int main(int argc, char **argv) {
	args = argv;
	if (atoi(argv[1]) == 0) {
		printf("last pid %d\n", getpid());
		return 3;
	}
	pthread_t t;
	for (int i = 0; i < 3; i++) pthread_create(&t, 0, idle, 0);
	pthread_create(&t, 0, spin, 0);
	if (*argv[2] == 'l') again();
	pthread_create(&t, 0, caller, 0);
	if (*argv[2] == 'x') pthread_exit(0); // the leader is a zombie when exec comes
	for (;;) pause();
}
