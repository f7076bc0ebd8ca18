// control MODE: what run control is tried on.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long watched, handled;

__attribute__((noinline)) long target(long x) {
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

static void *hits(void *arg) {
	long n = (long)arg, x = 0;
	for (long i = 0; i < n; i++) x += target(i);
	return (void *)x;
}

static long sum(long n) {
	long x = 0;
	for (long i = 0; i < n; i++) x += i * 3 + 1;
	return x;
}

// threads N HITS: N threads call target HITS times each.
static int threads(int n, long count) {
	pthread_t t[64];
	int bad = 0;
	for (int i = 0; i < n; i++) pthread_create(&t[i], 0, hits, (void *)count);
	for (int i = 0; i < n; i++) {
		void *r;
		pthread_join(t[i], &r);
		bad += (long)r != sum(count);
	}
	printf("bad %d\n", bad);
	return bad;
}

static void handler(int sig) { handled++; }

// signals: raises signals at itself.
static int signals(void) {
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	raise(SIGUSR1);
	raise(SIGUSR2);
	target(1);
	printf("handled %ld\n", handled);
	return 0;
}

int main(int argc, char **argv) {
	if (!strcmp(argv[1], "threads")) return threads(atoi(argv[2]), atol(argv[3]));
	if (!strcmp(argv[1], "signals")) return signals();
	return 99;
}
