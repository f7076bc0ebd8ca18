/* Variables of every kind, in places where a debugger can be asked for them. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum colour { RED, GREEN = 5, BLUE };
enum flags { F_A = 1, F_B = 2, F_C = 4 };

struct point {
	int x, y;
};

struct bits {
	unsigned a : 3;
	int b : 5;
	unsigned long c : 33;
	bool d : 1;
	enum colour e : 4;
};

union word {
	uint32_t u;
	float f;
	uint8_t b[4];
};

struct node {
	const char *name;
	struct node *next;
	struct point at;
	struct bits bits;
	union word w;
	double weight;
	char tag[12];
	short grid[2][3];
	struct {
		int inner;
		long other;
	};
	int (*call)(int);
};

typedef unsigned long long u64;
typedef struct point point_t;

static int file_static = 41;
int global_int = -7;
unsigned char global_bytes[5] = { 1, 2, 250, 0, 65 };
double global_double = 2.5;
float global_float = -0.125f;
const char *global_string = "hello \"jalon\"\n";
char global_array[20] = "tabs\tand\1more";
struct point points[3] = { { 1, 2 }, { 3, 4 }, { -5, 6 } };
static _Thread_local int thread_count = 100;
long double global_ld = 1.5L;
volatile int sink;

static int twice(int v)
{
	return 2 * v;
}

static __attribute__((noinline)) long scalars(int i, unsigned u, long l, char c, signed char sc, short s, u64 big, bool flag)
{
	static int calls;
	long sum = i + l;		/* scalars:first */

	calls++;
	sum += (long)u + c + sc + s + (long)big + flag;
	sink = (int)sum;
	thread_count++;
	return sum + file_static;	/* scalars:last */
}

static __attribute__((noinline)) double floats(float f, double d, int n)
{
	double sum = 0;

	for (int k = 0; k < n; k++) {
		double step = f * k + d;
		sum += step;		/* floats:loop */
		sink = (int)step;
	}
	return sum;			/* floats:last */
}

static __attribute__((noinline)) int structs(struct node *n, struct point p, point_t *q, enum colour col, enum flags fl)
{
	int total = 0;
	struct point local = { p.x + 1, q->y };

	for (struct node *it = n; it; it = it->next) {
		total += it->at.x * local.x + it->bits.b;
		sink = total;		/* structs:loop */
	}
	sink = local.y + (int)col + (int)fl;
	return total + n->call(local.x);	/* structs:last */
}

static inline __attribute__((always_inline)) int inlined(int a, int b)
{
	int c = a * b;
	sink = c;			/* inlined:body */
	return c + 1;
}

static __attribute__((noinline)) int shadow(int v)
{
	int r = v;

	{
		int v = r * 10;
		sink = v;		/* shadow:inner */
		r += v;
	}
	sink = r;			/* shadow:outer */
	return r + inlined(v, 3);
}

static __attribute__((noinline)) int pointers(int *p, int **pp, void *vp, const char *text, int arr[], int n)
{
	int r = 0;

	for (int i = 0; i < n; i++)
		r += arr[i] + *p + **pp;
	sink = r + (text ? text[0] : 0) + (vp != NULL);
	return r;			/* pointers:last */
}

int main(int argc, char **argv)
{
	struct node *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
	int numbers[4] = { 10, -20, 30, 40 }, *np = &numbers[1];
	int rounds = argc > 1 ? atoi(argv[1]) : 3;
	long result = 0;

	a->name = "first";
	a->next = b;
	a->at = (struct point){ 3, -4 };
	a->bits = (struct bits){ .a = 5, .b = -3, .c = 0x1ffffffffUL, .d = true, .e = BLUE };
	a->w.f = 1.5f;
	a->weight = 0.1;
	strcpy(a->tag, "tag-a");
	a->grid[1][2] = -9;
	a->inner = 77;
	a->call = twice;
	b->name = NULL;
	b->at = (struct point){ -1, 1 };
	b->call = twice;
	for (int r = 0; r < rounds; r++) {
		result += scalars(r - 1, 4000000000u, -5000000000L, (char)('a' + r), -100, -30000, 0xfedcba9876543210ULL, r & 1);
		result += (long)floats(0.5f + r, 1e10, 2);
		result += structs(a, (struct point){ r, 2 * r }, &points[r % 3], GREEN, F_A | F_C);
		result += shadow(r);
		result += pointers(np, &np, r ? a : NULL, r & 1 ? NULL : "text", numbers, 4);
	}
	printf("result %ld sink %d\n", result, sink);
	free(a);
	free(b);
	return 0;
}
