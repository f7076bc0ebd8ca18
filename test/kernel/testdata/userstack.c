// System calls at different depths of a stack. At the end it waits for its input to end; with an argument it waits for a byte of it before.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void leaf(int n)
{
	char text[64];
	int k = snprintf(text, sizeof text, "%d\n", n);
	sink += write(2, text, k);
	sink++;
}

__attribute__((noinline)) static void recursive(int n)
{
	volatile char room[40 + 24 * (n & 3)];
	room[0] = n;
	if (n == 0)
		leaf(room[0]);
	else
		recursive(n - 1);
	sink += room[0];
}

static int compare(const void *a, const void *b)
{
	leaf(*(const int *)a);
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int s) { leaf(s); }

int main(int argc, char **argv)
{
	int list[4] = {4, 1, 3, 2};
	struct sigaction sa = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &sa, 0);
	if (argc > 1)
		getchar();
	for (int n = 0; n < 12; n++)
		recursive(n);
	qsort(list, 4, sizeof *list, compare); // through a library
	raise(SIGUSR1);                         // and a signal's frame
	alarm(60);
	while (getchar() != EOF)
		;
	return 0;
}
