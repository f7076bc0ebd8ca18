// The program that the saved tracepoint files beside it were made from.
#include <stdio.h>

struct req {
	int len;
	char *path;
};

int arr[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static int g = 5;

int test_function(int counter1, int counter2)
{
	static int calls;
	struct req r = {counter1, "/index.html"};
	struct req *q = &r;

	calls++;
	return 2 * counter1 + 3 * counter2 + q->len + g;
}

int main(int argc, char **argv)
{
	int i, j = 0;

	for (i = 0; i < 10; i++)
		j += test_function(i, j);
	printf("%d\n", j);
	return 0;
}
