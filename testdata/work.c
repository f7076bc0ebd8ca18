/* A program that the package's tests trace: work is called 10 times, or without an end. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum colour { RED, GREEN, BLUE };
struct item {
	int number;
	enum colour colour;
	const char *name;
	double weight;
	char tag[8];
};

__attribute__((noinline)) static int work(int n, struct item *item)
{
	__asm__ volatile("" ::"r"(item) : "memory");
	return n + item->number;
}

int main(int argc, char **argv)
{
	struct item item = {-7, GREEN, "hello", 0.5, "tag"};
	int sum = 0;
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		for (;;) {
			sum += work(sum, &item);
			usleep(atoi(argv[1]));
		}
	}
	for (int i = 0; i < 10; i++)
		sum += work(i, &item);
	return sum & 3;
}
