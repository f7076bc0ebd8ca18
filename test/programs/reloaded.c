/* Without NAME: opens two libraries in turn, calls a function of each that calls hit, and closes it: reloaded A B ROUNDS. With NAME: a library. */
#ifdef NAME
extern void hit(int n);

__attribute__((noinline)) void NAME(int n)
{
	hit(n);
	__asm__ volatile("");
}

void work(int n)
{
	NAME(n);
	__asm__ volatile("");
}
#else
#include <dlfcn.h>
#include <stdlib.h>

static volatile int sum;

__attribute__((noinline)) void hit(int n)
{
	sum += n;
}

int main(int argc, char **argv)
{
	for (int i = 0; argc > 3 && i < 2 * atoi(argv[3]); i++) {
		void *lib = dlopen(argv[1 + i % 2], RTLD_NOW);

		if (!lib)
			return 1;
		((void (*)(int))dlsym(lib, "work"))(i % 2);
		dlclose(lib);
	}
	return 0;
}
#endif
