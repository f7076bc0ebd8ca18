/* Opens a library, calls it, closes it, again and again: plugins LIBRARY ROUNDS. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 10;
	long sum = 0;

	for (int i = 0; i < rounds; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		int (*work)(int);

		if (!lib) {
			puts(dlerror());
			return 1;
		}
		work = (int (*)(int))dlsym(lib, "plugin_work");
		for (int k = 0; k < 10; k++)
			sum += work(k + i);
		dlclose(lib);
	}
	printf("sum %ld\n", sum);
	return 0;
}
