// busy THREADS: threads compute a checkable sum until a line comes on stdin.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int stop;
static long bad;
__attribute__((noinline)) long step(long x) { return x * 3 + 1; }
static void *body(void *arg) {
	while (!stop) {
		long x = 1;
		for (int i = 0; i < 1000; i++) x = step(x);
		long y = 1;
		for (int i = 0; i < 1000; i++) y = y * 3 + 1;
		if (x != y) __atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
	}
	return 0;
}
int main(int argc, char **argv) {
	int n = atoi(argv[1]);
	pthread_t t[64];
	for (int i = 0; i < n; i++) pthread_create(&t[i], 0, body, 0);
	printf("ready\n");
	fflush(stdout);
	char c;
	long r = read(0, &c, 1);
	stop = 1;
	for (int i = 0; i < n; i++) pthread_join(t[i], 0);
	printf("read %ld bad %ld\n", r, bad);
	return bad != 0;
}
