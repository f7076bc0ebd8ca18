// Calls handle in some threads; then, by the second argument, in a forked child too, or in the program again after an exec.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { READ, WRITE, SYNC };
struct req {
	enum kind type;
	int len;
	const char *name;
};

static const char *names[] = {"alpha", "beta", "gamma"};

__attribute__((noinline)) void handle(struct req *req, long i)
{
	asm volatile("" ::"r"(req), "r"(i) : "memory");
}

static void calls(long n)
{
	for (long i = 0; i < n; i++) {
		struct req r = {i % 3, (int)(i & 1023) - 3, names[i % 3]};
		handle(&r, i);
	}
}

static void *run(void *arg)
{
	calls((long)arg);
	return 0;
}

int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, run, (void *)n);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		pid_t child = fork();
		if (child == 0) {
			calls(1000);
			_exit(0);
		}
		waitpid(child, 0, 0);
		calls(1000);
	}
	if (argc > 2 && !strcmp(argv[2], "exec"))
		execl(argv[0], argv[0], argv[1], (char *)0);
	return argc > 2 && !strcmp(argv[2], "killed") ? raise(9) : 0;
}
