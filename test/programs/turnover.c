// Many threads, four at a time, each of which makes a few system calls and ends.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *calls(void *arg)
{
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	return arg;
}

static void *threads(void *arg)
{
	for (int i = 0; i < 100; i++) {
		pthread_t t;
		pthread_create(&t, 0, calls, 0);
		pthread_join(t, 0);
	}
	return arg;
}

int main(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, threads, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return 0;
}
