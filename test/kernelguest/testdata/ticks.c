/* For each byte of the standard input: hits with the time of CLOCK_MONOTONIC, with a system call between each two, and a dot as the answer.
   Ends with the input. */
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void tick(long ns) { __asm__ volatile("" : : "r"(ns) : "memory"); }

int main(void)
{
	char c;
	struct timespec t;
	while (read(0, &c, 1) == 1) {
		for (int i = 0; i < 20; i++) {
			clock_gettime(CLOCK_MONOTONIC, &t);
			tick(t.tv_sec * 1000000000L + t.tv_nsec);
			getpriority(PRIO_PROCESS, 0);
		}
		if (write(1, ".", 1) != 1)
			return 1;
	}
	return 0;
}
