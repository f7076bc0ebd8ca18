/* Functions that are inlined, called directly, through a pointer, by themselves, and by jumps: see frames_test.go. */
#include <stdio.h>
#include <stdlib.h>

struct req {
	int id;
	const char *name;
};

volatile int sink;

__attribute__((noinline)) void leaf(int n)
{
	sink += n; /* here */
}

static inline __attribute__((always_inline)) void mid(int m, struct req *r)
{
	int twice = m * 2;

	sink += twice;
	leaf(m + r->id);
	sink -= twice + r->id;
}

__attribute__((noinline)) void handle(struct req *r, int depth)
{
	int local = depth * 3 + sink;

	mid(depth + 40, r);
	sink += local + r->id;
}

__attribute__((noinline)) int again(int depth, long total)
{
	int part = depth * 5 + sink;

	if (depth == 0)
		leaf((int)total);
	else
		part += again(depth - 1, total + part);
	sink += part;
	return part;
}

__attribute__((noinline)) void jumps(int j)
{
	long y = j * 2L;

	sink++;
	leaf(j + 1);
	sink += (int)y;
}

__attribute__((noinline)) void calls(int m, int c)
{
	jumps(m);
	sink += c;
	jumps(m + c);
	sink += m;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	leaf(x - y);
	return x - y;
}

__attribute__((noinline)) void other(long m, void (*f)(int), double d)
{
	struct req own = {(int)m, "own"};

	f((int)m);
	sink += own.id + (int)m + (int)d;
}

int main(int argc, char **argv)
{
	struct req a = {7, "seven"}, b = {9, "nine"};
	int v[] = {3, 1};

	for (int i = 0; i < 2; i++)
		handle(i ? &b : &a, i + argc);
	again(3, 100);
	calls(argc + 5, argc + 60);
	other(5, leaf, 2.5);
	qsort(v, 2, sizeof *v, compare);
	printf("%d %s\n", sink, argv[0]);
	return 0;
}
