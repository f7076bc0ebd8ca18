/* A program at a terminal: typist die|handle|ignore. It works until SIGINT. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked;

static void on(int sig) { (void)sig; asked = 1; }

__attribute__((noipa)) long work(long n) { return n + 1; }
__attribute__((noipa)) long cleanup(long n) { return n * 2; }

int main(int argc, char **argv)
{
	long n = 0;

	if (argc > 1 && !strcmp(argv[1], "handle"))
		signal(SIGINT, on);
	if (argc > 1 && !strcmp(argv[1], "ignore"))
		signal(SIGINT, SIG_IGN);
	while (!asked) {
		n = work(n);
		if (n == 1) {
			puts("at work");
			fflush(stdout);
		}
		usleep(1000);
	}
	cleanup(n);
	puts("cleaned up");
	return 3;
}
