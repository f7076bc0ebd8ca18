/* Counts ticks until the variable or SIGTERM ends it, and prints the number. */
#include <signal.h>
#include <stdio.h>
#include <time.h>

volatile sig_atomic_t stop;
long ticks, sum;

static void end(int sig)
{
	stop = sig;
}

__attribute__((noinline, noclone)) long tick(long n)
{
	sum += n;
	return sum;
}

int main(void)
{
	signal(SIGTERM, end);
	signal(SIGUSR1, SIG_IGN);
	while (!stop) {
		struct timespec ms = { 0, 1000000 };
		nanosleep(&ms, NULL);
		tick(ticks++);
		if (ticks % 50 == 0) {
			printf("%ld\n", ticks);
			fflush(stdout);
		}
	}
	printf("%s\n", sum == ticks * (ticks - 1) / 2 ? "the sum is right" : "the sum is wrong");
	return 0;
}
