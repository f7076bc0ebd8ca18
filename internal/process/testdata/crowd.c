// As many threads as the argument says sleep until the end of the input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *sleeper(void *arg)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t t;
	char c;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = atoi(argv[1]); i > 0; i--)
		if (pthread_create(&t, &small, sleeper, 0))
			return 1;
	puts("ready");
	fflush(stdout);
	return read(0, &c, 1) != 0;
}
