/* Loads a library and calls one of its functions: LIBRARY FUNCTION. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*f)(void) = lib ? (void (*)(void))dlsym(lib, argv[2]) : NULL;

	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	f();
	puts("called");
	return 0;
}
