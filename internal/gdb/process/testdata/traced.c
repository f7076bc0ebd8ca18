// What tracing tests trace, by the first argument.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long sum;

__attribute__((noinline)) void hit(long n) { sum += n; }
__attribute__((noinline)) void other(long n) { sum -= n; }

// readByte has its system call at the label readCall, whose copy a thread sleeps in.
long readByte(int fd, char *to);
__asm__(".text\n.globl readByte, readCall\n.type readByte, @function\n"
	"readByte:\n\tmov $1, %edx\n\txor %eax, %eax\n"
	"readCall:\n\tsyscall\n\tnop\n\tnop\n\tnop\n\tret\n"
	".size readByte, .-readByte\n");

volatile int over;

static void *many(void *x)
{
	while (!over)
		hit(1);
	return x;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long round = argc > 2 ? atol(argv[2]) : 0;
	if (!strcmp(what, "loop")) {
		for (long i = 0; i < round; i++)
			hit(i);
	} else if (!strcmp(what, "exec")) { // itself, until the round is 2
		for (long i = 0; i < 5; i++)
			hit(i);
		if (round < 2) {
			char next[16];
			sprintf(next, "%ld", round + 1);
			execl("/proc/self/exe", argv[0], "exec", next, (char *)0);
			return 1;
		}
	} else if (!strcmp(what, "both")) { // hit in a thread, other here
		pthread_t t;
		pthread_create(&t, 0, many, 0);
		for (long i = 0; i < round; i++)
			other(i);
		over = 1;
		pthread_join(t, 0);
	} else if (!strcmp(what, "read")) { // reads what it is sent on stdin
		char c;
		while (readByte(0, &c) == 1)
			hit(c);
	}
	raise(SIGUSR1);
	return (int)(sum % 100);
}
