#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "shared.h"

enum color { RED, GREEN = 5, BLUE };
enum sign { MINUS = -3, ZERO, PLUS = 1000 };

struct point {
	int x, y;
};

struct node {
	struct node *next;
	struct point at;
	union {
		int i;
		float f;
		char bytes[4];
	};
	unsigned flag : 1;
	unsigned kind : 3;
	int delta : 12;
	long long wide : 40;
	const char *name;
	int (*callback)(struct node *, int);
	enum color color;
	double weights[3][2];
	char tail[];
};

struct opaque; /* defined in other.c */
extern struct opaque *hidden;
extern int shared_counter;

typedef struct node node_t;
typedef uint8_t bytes16[16];

static int file_static = 42;
int global_array[4] = { 1, 2, 3, 4 };
__thread int per_thread = 7;
static __thread long per_thread_static;
volatile int sink;
const char *const greeting = "hello";
float ratio = 1.5f;
_Bool truth = 1;
long double wide_float = 2.25L;
unsigned __int128 huge;
typedef int v4si __attribute__((vector_size(16)));
v4si vec = { 1, 2, 3, 4 };

static inline int twice(int v)
{
	int r = v * 2;
	sink += r;
	return r;
}

static inline __attribute__((always_inline)) int thrice(int v)
{
	int once = twice(v);
	{
		int inner = once + v;
		sink = inner;
		return inner;
	}
}

__attribute__((noinline)) int count_to(int limit)
{
	static int calls;
	int total = 0;
	calls++;
	for (int i = 0; i < limit; i++) {
		int step = thrice(i);
		if (step > 100) {
			int total = step; /* shadows */
			sink = total;
			break;
		}
		total += step;
	}
	return total + file_static;
}

__attribute__((noinline)) int walk(node_t *n, int depth)
{
	if (!n)
		return depth;
	sink = n->at.x;
	return walk(n->next, depth + 1) + n->flag;
}

__attribute__((noinline)) int sum_all(int n, ...)
{
	va_list ap;
	int s = 0;
	va_start(ap, n);
	while (n-- > 0)
		s += va_arg(ap, int);
	va_end(ap);
	return s;
}

__attribute__((noinline)) double mixed(float a, double b, long double c, char d, short e, struct point p)
{
	double r = a * b + (double)c;
	r += d + e + p.x * p.y;
	return r;
}

__attribute__((noinline)) int choose(enum color c, enum sign s)
{
	switch (c) {
	case RED:
		return s;
	case GREEN:
		return s + 1;
	case BLUE:
		return s * 2;
	default:
		break;
	}
	return -1;
}

__attribute__((noinline)) int vla(int n)
{
	int buf[n];
	for (int i = 0; i < n; i++)
		buf[i] = i * i;
	int r = 0;
	for (int i = 0; i < n; i++)
		r += buf[i];
	return r;
}

__attribute__((noinline)) void empty(void) {}

__attribute__((noinline, cold)) void failed(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(3);
}

__attribute__((noinline)) int aligned(int n)
{
	char space[64] __attribute__((aligned(64)));
	memset(space, n, sizeof space);
	sink = space[n & 63];
	return sink;
}

__attribute__((noinline)) int checked(int n)
{
	if (__builtin_expect(n < 0, 0)) {
		failed("negative");
	}
	return from_header(n) + 1;
}

int main(int argc, char **argv)
{
	struct node a = { .at = { 1, 2 }, .name = "a", .kind = 5, .delta = -7 };
	struct node b = { .next = &a, .at = { 3, 4 }, .name = "b", .flag = 1, .wide = -1 };
	bytes16 raw = { 0xde, 0xad };
	int r = count_to(argc + 10);
	r += walk(&b, 0);
	r += sum_all(3, 1, 2, 3);
	r += (int)mixed(1, 2, 3, 4, 5, a.at);
	r += choose(GREEN, MINUS);
	r += vla(5) + aligned(argc);
	empty();
	r += checked(argc) + other(argc) + raw[0];
	per_thread_static++;
	huge++;
	printf("%d %s %d %f\n", r, greeting, per_thread, ratio);
	return (hidden == 0) + shared_counter * 0;
}
