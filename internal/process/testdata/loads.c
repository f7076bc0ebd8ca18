// loads FILE N [wait]: opens and closes a shared library N times while threads run;
// wait: when there is a line on the standard input.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int stop;
static void *spin(void *arg) { for (volatile long i = 0; !stop; i++); return 0; }
int main(int argc, char **argv) {
	pthread_t t[2];
	for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, spin, 0);
	if (argc > 3) getchar();
	int sum = 0;
	for (int i = 0; i < atoi(argv[2]); i++) {
		void *h = dlopen(argv[1], RTLD_NOW);
		if (!h) { printf("%s\n", dlerror()); return 1; }
		int (*f)(int) = (int (*)(int))dlsym(h, "plugin_value");
		sum += f(i);
		dlclose(h);
	}
	stop = 1;
	for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
	printf("sum %d\n", sum);
	return 0;
}
