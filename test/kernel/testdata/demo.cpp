// Structs, unions, bit-fields, arrays, references, a list, at -O0 and -O2.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

struct Inner { char c[3]; struct Inner *link; };
struct Point { int x, y; unsigned f : 3, g : 5; const char *name; Inner in; };
struct Node { int value; const char *name; Node *next; };

static int depth;
int table[4] = {3, 1, 4, 1};
static int results[1000], count;
static bool print_results;

__attribute__((noinline)) int leaf(Point *p, int n) {
	int local = n * 2 + table[n & 3];
	p->x += local;
	results[count++ % 1000] = local - p->y;
	return local - p->y;
}

__attribute__((noinline)) int middle(int n) {
	Inner inner = {{'a', (char)('b' + n % 20), 0}, 0};
	Point p = {n, -n, (unsigned)n & 7, (unsigned)n & 31, n % 2 ? "odd" : "even", {{1, (char)n, 3}, n % 5 == 4 ? (Inner *)8 : &inner}};
	const char *label = p.name;
	depth++;
	p.x++;
	int r = leaf(&p, n);
	asm volatile("" :: "r"(&p), "r"(label), "r"(&inner) : "memory");
	syscall(SYS_getpriority, n, r);
	return r + p.x;
}

__attribute__((noinline)) int walk(Node *head) {
	int sum = 0;
	for (Node *n = head; n; n = n->next) sum += n->value;
	return sum;
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 10;
	print_results = argc > 2 && !strcmp(argv[2], "results");
	long total = 0;
	for (int i = 0; i < n; i++) {
		total += middle(i);
		Node c = {i * 3, "c", 0}, b = {i * 2, "b", i % 2 ? &c : 0}, a = {i, "a", i % 3 ? &b : 0};
		total += walk(&a);
	}
	if (print_results)
		for (int i = 0; i < count; i++) printf("%d\n", results[i]);
	return total == 12345678;
}
