/* Calls functions as often as the number on each line of standard input. */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int sink;
__attribute__((noinline)) void step(int i) { sink += i; }
__attribute__((noinline)) void turn(int i) {
	step(i);
	syscall(SYS_getpriority, 1, i);
	sink++;
}

int main(void) {
	int n, rounds = 0;
	setvbuf(stdout, 0, _IOLBF, 0);
	printf("ready 0\n");
	while (scanf("%d", &n) == 1) {
		for (int i = 0; i < n; i++) turn(i);
		printf("ready %d\n", ++rounds);
	}
	return 0;
}
