// Calls of paired that fork, vfork and exec inside. Prints n calls that returned in each process.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *self;
static int calls;

__attribute__((noinline)) long paired(long n, int how)
{
	int status;
	if (how == 1) {
		pid_t p = fork();
		if (p == 0) {
			n += 1000; // returns twice, once in each process
		} else {
			waitpid(p, &status, 0);
		}
	} else if (how == 2) {
		if (vfork() == 0)
			execl(self, self, "child", (char *)0), _exit(1);
		wait(&status);
	} else if (how == 3) {
		execl(self, self, "second", (char *)0);
		_exit(1);
	}
	calls++;
	return n;
}

int main(int argc, char **argv)
{
	pid_t first = getpid();
	setbuf(stdout, 0);
	self = "/proc/self/exe";
	if (argc > 1 && strcmp(argv[1], "second") != 0) {
		paired(5000, 0);
		return 0;
	}
	for (int i = 0; i < 20; i++) {
		long r = paired(i, i % 4 == 1 ? 1 : i % 4 == 2 ? 2 : 0);
		if (getpid() != first) {
			paired(r, 0); // in the child
			_exit(0);
		}
		if (r != i)
			return 1;
	}
	printf("%s %d\n", argc > 1 ? "second" : "first", calls);
	if (argc == 1)
		paired(7000, 3);
	return 0;
}
