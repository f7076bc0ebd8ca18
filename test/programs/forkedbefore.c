// A server: the first process starts another one, which works, prints its number and waits for it.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int __attribute__((noinline)) served(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }

int main(void)
{
	int n = 0, child = fork();
	while (child == 0) {
		n = served(n);
		usleep(1000);
		if (getppid() == 1)
			return 0;
	}
	printf("%d\n", child);
	fflush(stdout);
	return waitpid(child, NULL, 0) != child;
}
