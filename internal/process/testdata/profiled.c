// profiled N: computes until a profiling timer has ticked N times.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile long ticks, n;
static void tick(int sig) { ticks++; }

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 1000}, {0, 1000}};

	signal(SIGPROF, tick);
	setitimer(ITIMER_PROF, &every, 0);
	printf("ready\n");
	fflush(stdout);
	while (ticks < atol(argv[1]))
		n++;
	printf("done\n");
	return 0;
}
