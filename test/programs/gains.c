/* Starts a set-user-ID program in every way; argv[1] is a copy of this one that has the bit. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) int begin(int a)
{
	__asm__ volatile("");
	return a + 1;
}

int main(int argc, char **argv)
{
	char *args[] = { "gains", NULL };
	pid_t p;

	if (argc < 2) {
		printf("rights %d\n", geteuid() == 0);
		return 0;
	}
	begin(1);
	if (posix_spawn(&p, "/no/such", NULL, NULL, args, environ) == 0)
		return 91;
	if (posix_spawn(&p, argv[1], NULL, NULL, args, environ))
		return 92;
	waitpid(p, NULL, 0);
	begin(2);
	if (system(argv[1]))
		return 93;
	if (!(p = vfork())) {
		begin(3);
		execv("/no/such", args);
		begin(4);
		execv(argv[1], args);
		_exit(9);
	}
	waitpid(p, NULL, 0);
	if (!(p = fork())) {
		execv(argv[1], args);
		_exit(9);
	}
	waitpid(p, NULL, 0);
	begin(5);
	return 7;
}
