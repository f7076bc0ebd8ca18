// What GDB is asked about: variables of many types, stopped at in work().
#include <stddef.h>

enum colour { RED, GREEN = 5, BLUE = -3 };

struct inner { short x, y; };

struct node {
	int a;
	short b;
	char c;
	long d;
	unsigned f : 5;
	int g : 7;
	struct node *next;
	int arr[4];
	struct inner in;
	const char *name;
	enum colour col;
	_Bool yes;
};

struct node second = {100, 200, 'x', -1, 3, 4, NULL, {1, 2, 3, 4}, {-5, 6}, "second", BLUE, 1};
struct node first = {1, -2, 3, 1L << 40, 21, -6, &second, {7, -8, 9, 2147483647}, {11, -12}, "first", GREEN, 0};
int counter1 = 5, counter2 = -7, zero;
unsigned int ui = 4000000000u;
unsigned long ul = 0xfffffffffffffff0ul;
long sl = -81985529216486895L;
unsigned char uc = 200;
signed char sc = -100;
unsigned short us = 65000;
short ss = -30000;
char text[16] = "hello";
int matrix[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
struct node *none;

__attribute__((noinline)) int work(int p1, int p2, unsigned long p3, struct node *n, char *s)
{
	int local = p1 * 3;
	long big = p2 * 1000000007L;
	int *ip = &local;
	unsigned char byte = p1;
	int result = local + *ip + byte; // stop
	__asm__ volatile("" ::"r"(big), "r"(p3), "r"(n), "r"(s));
	return result;
}

int main(void)
{
	return work(counter1, counter2, ul >> 3, &first, text) == 0;
}
