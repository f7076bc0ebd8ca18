/* Loads a library, calls it, unloads it, loads it again and calls it. */
#include <dlfcn.h>
#include <stdio.h>

static void finished(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	int sum = 0;

	for (int round = 0; round < 2 && argc > 1; round++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		int (*f)(int) = lib ? (int (*)(int))dlsym(lib, "plugin_work") : NULL;
		if (!f) {
			printf("%s\n", dlerror());
			return 1;
		}
		for (int i = 0; i < 5; i++)
			sum += f(10 * round + i);
		if (round == 0)
			dlclose(lib);
	}
	printf("sum %d\n", sum);
	fflush(stdout);
	finished();
	return 0;
}
