/* As a program: two threads call a function of a library so often, when a line comes.
   As a library (WHICH): that function, at an offset of its own. */
#ifdef WHICH
#if WHICH > 1
int before(int n) { return n * WHICH; }
#endif
__attribute__((noinline)) int work(int n) {
	int which = n - n + WHICH;
	__asm__ volatile("" : "+r"(which));
	return which;
}
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int (*work)(int);
static int times;
static pthread_barrier_t both;

static void *thread(void *unused) {
	pthread_barrier_wait(&both);
	for (int i = 0; i < times; i++) work(i);
	pthread_barrier_wait(&both);
	return unused;
}

static int other;
static void *second(void *unused) { other = gettid(); return thread(unused); }

int main(int argc, char **argv) {
	void *lib = dlopen(argv[1], RTLD_NOW);
	pthread_t t;
	if (!lib || !(work = (int (*)(int))dlsym(lib, "work"))) return 1;
	times = atoi(argv[2]);
	printf("ready\n");
	fflush(stdout);
	if (argc > 3) getchar();
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t, 0, second, 0);
	thread(0);
	pthread_join(t, 0);
	printf("pid %d threads %d %d works %d\n", getpid(), gettid(), other, work(0));
	fflush(stdout);
	return 0;
}
#endif
