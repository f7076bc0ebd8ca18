/* A library, or a part of a program, whose variables and functions have the same names as those of others. It reports
   the addresses that its own code uses. With QUIET its code uses none of them. */
#define _GNU_SOURCE
#ifdef OTHERS
extern int v;
extern __thread int t;
int f(int);
#else
int v = VALUE;
__thread int t = VALUE + 1;
__attribute__((noinline, noclone)) int f(int x) { return x + VALUE; }
#endif

#define JOIN(a, b) a##b
#define OWN(a, b) JOIN(a, b)

__attribute__((noinline, noclone)) void OWN(NAME, _report)(int *pv, int (*pf)(int), int *pt)
{
	__asm__ volatile("" : : "r"(pv), "r"(pf), "r"(pt) : "memory");
}

#ifdef QUIET
void OWN(NAME, _use)(void) { OWN(NAME, _report)(0, 0, 0); }
#else
void OWN(NAME, _use)(void)
{
	v++;
	t += f(0);
	OWN(NAME, _report)(&v, f, &t);
}
#endif

#ifdef PROGRAM
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Three arguments for each library to open: how (g: RTLD_GLOBAL, d: RTLD_DEEPBIND, n: in a namespace of its own, c: it is
   closed afterwards, m: its file is mapped first, to read it), its function to call, and its path. */
int main(int argc, char **argv)
{
#ifdef LINKED
	void A_use(void), B_use(void);
	A_use();
	B_use();
#endif
	OWN(NAME, _use)();
	for (int i = 1; i + 2 < argc; i += 3) {
		int how = RTLD_NOW | (strchr(argv[i], 'g') ? RTLD_GLOBAL : 0) | (strchr(argv[i], 'd') ? RTLD_DEEPBIND : 0);
		void *lib;

		if (strchr(argv[i], 'm'))
			mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, open(argv[i + 2], O_RDONLY), 0);
		lib = strchr(argv[i], 'n') ? dlmopen(LM_ID_NEWLM, argv[i + 2], how) : dlopen(argv[i + 2], how);
		if (!lib) {
			puts(dlerror());
			return 1;
		}
		for (int k = 0; k < 3; k++)
			((void (*)(void))dlsym(lib, argv[i + 1]))();
		if (strchr(argv[i], 'c'))
			dlclose(lib);
	}
	return 0;
}
#endif
