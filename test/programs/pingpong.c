/* Two processes that send each other numbered messages: pingpong N. Prints the process id of the second one when it is ready, and begins
   when its standard input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE(name) __attribute__((noinline)) void name(int n) { __asm__ volatile("" : : "r"(n) : "memory"); }
PLACE(sent)
PLACE(answered)
PLACE(received)
PLACE(replied)

int main(int argc, char **argv)
{
	int ends[2], n, max = argc > 1 ? atoi(argv[1]) : 10;
	char c;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	pid_t other = fork();
	if (!other) {
		close(ends[0]);
		while (read(ends[1], &n, sizeof n) == sizeof n) {
			received(n);
			replied(n);
			if (write(ends[1], &n, sizeof n) != sizeof n)
				return 1;
		}
		return 0;
	}
	close(ends[1]);
	printf("%d\n", other);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	for (int i = 0; i < max; i++) {
		sent(i);
		if (write(ends[0], &i, sizeof i) != sizeof i || read(ends[0], &n, sizeof n) != sizeof n || n != i)
			return 1;
		answered(i);
	}
	close(ends[0]);
	waitpid(other, NULL, 0);
	return 0;
}
