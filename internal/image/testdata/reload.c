// A thread uses a library, which then is replaced by another: that gets the number of
// the first, but the thread has not used it.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *plugin_addresses[1];
static void *handle;
static sem_t used, replaced;

static void *thread(void *arg)
{
	((void *(*)(void))dlsym(handle, "plugin_address"))();
	sem_post(&used);
	sem_wait(&replaced);
	char c = 'x';
	if (write(1, &c, 1) != 1)
		exit(1);
	for (;;)
		pause();
	return arg;
}

static void load(const char *path)
{
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	plugin_addresses[0] = ((void *(*)(void))dlsym(handle, "plugin_address"))();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	load(argv[1]);
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	sem_wait(&used);
	dlclose(handle);
	load(argv[2]);
	sem_post(&replaced);
	pthread_join(t, 0);
	return 0;
}
