// storm ROUNDS: creates and joins threads without end, 16 at a time.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long count;
static void *leaf(void *arg) {
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	return arg;
}
static void *body(void *arg) {
	for (long i = 0, n = (long)arg; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, 0, leaf, 0)) { perror("pthread_create"); exit(1); }
		pthread_join(t, 0);
	}
	return 0;
}
int main(int argc, char **argv) {
	pthread_t t[16];
	for (int i = 0; i < 16; i++) pthread_create(&t[i], 0, body, (void *)atol(argv[1]));
	for (int i = 0; i < 16; i++) pthread_join(t[i], 0);
	printf("%ld\n", count);
	return 0;
}
