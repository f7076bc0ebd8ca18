// Loads libraries, writes a byte to standard output and waits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__thread char main_pad = 1;
__thread int64_t main_tls __attribute__((aligned(64))) = 7;
__thread int64_t main_zero;
int64_t *main_address, *zero_address;
int64_t *thread_address, *thread_plugin;
void *plugin_addresses[2];
static void *handle[2];

#ifdef NO_DLMOPEN
#define dlmopen(space, path, flags) dlopen(path, flags)
#endif

static void *thread(void *touch)
{
	thread_address = &main_tls;
	if (touch)
		thread_plugin = ((void *(*)(void))dlsym(handle[0], "plugin_address"))();
	char c = 'x';
	if (write(1, &c, 1) != 1)
		exit(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	main_address = &main_tls;
	zero_address = &main_zero;
	for (int i = 0; i + 1 < argc && i < 2; i++) {
		handle[i] = i ? dlmopen(LM_ID_NEWLM, argv[i + 1], RTLD_NOW) : dlopen(argv[i + 1], RTLD_NOW);
		if (!handle[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		plugin_addresses[i] = ((void *(*)(void))dlsym(handle[i], "plugin_address"))();
	}
	pthread_t t;
	pthread_create(&t, 0, thread, argc > 1 && getenv("TOUCH") ? argv : 0);
	pthread_join(t, 0);
	return 0;
}
