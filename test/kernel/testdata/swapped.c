// One after the other, two libraries of equal size whose functions have different frames, mostly at the same address: each
// makes twice 50 system calls, whose second argument is its number. The program waits for a byte of its input before each 50, and
// before it unloads the library. Built with ROOM it is such a library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef ROOM
__attribute__((noinline)) static long inner(int n)
{
	volatile char room[ROOM];
	room[0] = n;
	long r = syscall(SYS_getpriority, 0, n);
	return r + room[0];
}

long outer(int n)
{
	volatile char room[ROOM + 128];
	room[0] = n;
	return inner(n) + room[0];
}
#else
int main(int argc, char **argv)
{
	for (unsigned turn = 0;; turn++) {
		void *lib = dlopen(argv[1 + turn % 2], RTLD_NOW);
		long (*outer)(int) = lib ? (long (*)(int))dlsym(lib, "outer") : 0;
		if (!outer) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		for (int half = 0; half < 2; half++) {
			if (getchar() == EOF)
				return 0;
			for (int i = 0; i < 50; i++)
				outer(1 + turn % 2);
		}
		getchar();
		dlclose(lib);
	}
}
#endif
