/*
 * Two libraries that are loaded in turn to the same place: swapped LIBRARY LIBRARY ROUNDS.
 * With LIBRARY defined this is one of them; both have one size.
 */
#ifdef LIBRARY
long LIBRARY(long (*f)(long), long x)
{
	long r = f(x);

	__asm__ volatile("");
	return r + 1;
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static long where; /* the library's code, to see that both lie at one place */

__attribute__((noinline)) long leaf(long x)
{
	__asm__ volatile("" : : "r"(x) : "memory");
	return x;
}

static long call(long x)
{
	return leaf(x) + 1;
}

int main(int argc, char **argv)
{
	static const char *const name[] = {"first", "other"};
	int same = 1;

	for (int i = 0; argc > 3 && i < atoi(argv[3]); i++) {
		void *lib = dlopen(argv[1 + i % 2], RTLD_NOW);
		long (*f)(long (*)(long), long);

		if (lib == NULL)
			return 1;
		f = (long (*)(long (*)(long), long))dlsym(lib, name[i % 2]);
		same &= i == 0 || where == (long)f;
		where = (long)f;
		f(call, i % 2);
		dlclose(lib);
	}
	puts(same ? "same" : "moved");
	return 0;
}
#endif
