/* The library calls back into the program, in processes that end at once: the first one, forked ones, and with an argument one
 * that executes this program again. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int calls;

__attribute__((noinline)) int order(const void *a, const void *b)
{
	calls++;
	return *(const int *)a - *(const int *)b;
}

static void sort(void)
{
	int v[4] = {3, 1, 2, 0};

	qsort(v, 4, sizeof(*v), order);
}

int main(int argc, char **argv)
{
	sort();
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			sort();
			_exit(0);
		}
		wait(NULL);
	}
	if (argc > 1)
		execl(argv[0], argv[0], NULL);
	return 0;
}
