/* Variables of every kind, at places where a debugger can print them. */
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

/* More shapes of values, and places that optimisers keep them in. */

typedef int v4si __attribute__((vector_size(16)));
typedef int (*binary_fn)(int, int);
typedef const char *text_t;

struct pair {
	long a, b;
};

struct mixed {
	int i;
	double d;
};

struct fpair {
	float x, y;
};

struct big {
	long v[5];
	char tail;
};

struct __attribute__((packed)) packed {
	char c;
	int i;
	double d;
	unsigned lo : 7, hi : 13;
	short s;
};

struct deep {
	struct {
		struct point p[2];
		union word w;
	} in[2];
	enum flags mask;
	const char *names[2];
	binary_fn fns[2];
	struct opaque *hidden;
	union {
		long whole;
		struct {
			short low, high;
		};
	};
	signed char none[0];
};

struct list {
	struct list *next, *prev;
	int key;
	unsigned char flex[];
};

struct straddle {
	int a : 17;
	unsigned b : 20;
	long long c : 45;
	unsigned char d : 2, e : 6;
	_Bool f : 1;
	int : 0;
	int g : 31;
};

static const int table[2][3] = { { 1, -2, 3 }, { 4, 5, -6 } };
struct deep deep = { .mask = F_A | F_C, .names = { "zero", NULL } };
struct straddle straddle = { -1000, 0xabcde, -123456789012LL, 2, 33, 1, -5 };
struct packed packed = { 'p', -77, 6.25, 100, 8000, -3 };
static struct { int hidden; struct point *where; } unnamed = { 17, &points[1] };
volatile unsigned char vbyte = 0xc3;
_Bool flag_true = 1;
__int128 wide = (__int128)1 << 100;
double _Complex cplx = 1.5;
int *const const_pointer = &global_int;
int **pointer_pointer;
int sink_target = 1234;
int (*row_pointer)[3] = (int (*)[3])table;
_Thread_local short thread_array[3] = { 7, -8, 9 };

static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }

static __attribute__((noinline)) long in_registers(struct pair p, struct mixed m, struct fpair f, struct big b)
{
	long t = p.a - p.b;		/* in_registers:first */

	sink = (int)t;
	t += m.i + (long)m.d;
	sink = (int)(f.x + f.y);
	t += b.v[0] + b.v[4] + b.tail;
	sink = (int)t;
	return t;
}

static __attribute__((noinline)) struct pair make_pair(long a, long b)
{
	struct pair r = { a, b };

	sink = (int)a;
	r.a += r.b;
	sink = (int)r.a;
	r.b *= 3;
	return r;
}

static __attribute__((noinline)) long in_pieces(long n)
{
	struct pair p = { n, 2 * n };
	struct mixed m = { (int)n, n * 0.5 };
	long t = 0;

	for (int i = 0; i < 3; i++) {
		p.a += i;
		sink = (int)p.a;
		p.b -= p.a;
		m.i ^= i;
		m.d += p.b;
		sink = (int)p.b;	/* in_pieces:loop */
		t += p.a * p.b + m.i;
	}
	p = make_pair(p.a, t);
	sink = (int)m.d;
	return t + p.a - p.b;
}

static __attribute__((noinline)) double many(int a, double b, long c, float d, char e, short f, unsigned g, double h, long i, unsigned char j, float k)
{
	double r = a * b + c;		/* many:first */

	sink = e;
	r += d * f - g;
	sink = f;
	r += h / (i ? i : 1);
	sink = j;
	r += k;
	return r;
}

static __attribute__((noinline)) int recurse(int n, int *up)
{
	int here = n * n;

	sink = here;
	if (n <= 0)
		return *up;		/* recurse:leaf */
	here += recurse(n - 1, &here);
	sink = here;
	return here;
}

static inline __attribute__((always_inline)) int inner(int x)
{
	int y = x ^ 0x55;

	sink = y;			/* inner:body */
	return y + 1;
}

static inline __attribute__((always_inline)) int middle(int x, int times)
{
	int sum = 0;

	for (int i = 0; i < times; i++) {
		int x2 = x + i;
		sum += inner(x2);
		sink = sum;
	}
	return sum;
}

static __attribute__((noinline)) int outer(int x)
{
	int r = middle(x, 2);

	sink = r;
	r -= inner(r);
	sink = r;
	return r + middle(r, 1);
}

static __attribute__((noinline)) int vla(int n)
{
	int a[n], r = 0;
	short two[2][n + 1];

	for (int i = 0; i < n; i++) {
		a[i] = i * i;
		two[0][i] = two[1][i] = (short)-i;
	}
	two[0][n] = two[1][n] = 1;
	for (int i = 0; i < n; i++) {
		r += a[i] + two[1][i];
		sink = r;		/* vla:loop */
	}
	return r;
}

static __attribute__((noinline)) int constants(int n)
{
	const int five = 5;
	int seven = five + 2;
	long copy = n, *gone = &copy;
	double half = 0.5;
	float third = 0.25f;
	const char *word = "word";
	struct point fixed = { 3, 4 };
	enum colour col = BLUE;
	_Bool yes = n > 0;

	sink = seven * n;
	sink += (int)(half * third * 100) + word[1];
	sink += fixed.x + fixed.y + col + yes;
	*gone += five;
	sink = (int)copy;		/* constants:last */
	return seven + (int)copy;
}

static __attribute__((noinline)) int kinds(struct deep *d, struct straddle s, struct packed *k, v4si v, long double ld, binary_fn fn, struct list *l)
{
	static short calls = 3;
	char text[6] = "abc";
	unsigned char bytes[4] = { 1, 0, 255, 65 };
	long double twice_ld = ld * 2;
	v4si sum = v + v;
	__int128 i128 = (__int128)s.c * s.c;
	int hits = 0, r;

	calls += 2;
	text[0] = (char)(text[0] + calls % 20);
	sink = text[0];
	r = fn(s.a, (int)s.b) + d->in[1].p[0].x;
	sink = r + bytes[calls & 3] + sum[1];
	switch (r & 3) {
	case 0:
		hits = 1;
		sink = hits;
		break;
	case 1: {
		int hits = 22;
		sink = hits;		/* kinds:block */
		break;
	}
	default:
		hits = 3;
		sink = hits;
	}
	for (struct list *it = l; it; it = it->next)
		sink += it->key + it->flex[0];	/* kinds:list */
	sink += (int)twice_ld + (int)(i128 >> 20) + k->i;
	return r + hits + k->lo;	/* kinds:last */
}

static __attribute__((noinline)) float single(float a, float b)
{
	float m = a > b ? a : b;
	double wide_m = m;

	sink = (int)m;
	m = m * a - b;
	sink = (int)(wide_m + m);	/* single:last */
	return m;
}

static __attribute__((noinline)) unsigned narrow(unsigned char a, signed char b, unsigned short c, short d, _Bool e)
{
	unsigned char x = a + b;
	short y = c * d;

	sink = x;
	x <<= 1;
	y >>= 3;
	sink = y;			/* narrow:last */
	return e ? x : (unsigned)y;
}

/* Makes the contents of unset variables the same in every run. */
static __attribute__((noinline)) void scrub(void)
{
	volatile char room[16384];

	for (unsigned i = 0; i < sizeof room; i++)
		room[i] = 0;
}

static __attribute__((noinline)) long shapes(int r)
{
	static struct list *head;
	long t = 0;

	if (!head) {
		struct list *tail = calloc(1, sizeof *tail + 8);
		head = calloc(1, sizeof *head + 8);
		head->next = tail;
		tail->prev = head;
		head->key = 11;
		tail->key = -22;
		tail->flex[0] = 200;
		pointer_pointer = (int **)&const_pointer;
		deep.fns[0] = add;
		deep.fns[1] = sub;
		deep.in[1].p[0] = (struct point){ 5, -6 };
		deep.in[0].w.f = -2.0f;
	}
	scrub();
	deep.whole = 0x10002L * r;
	t += in_registers((struct pair){ r, -r }, (struct mixed){ r + 1, r * 0.25 }, (struct fpair){ r, 1.5f }, (struct big){ { r, 2, 3, 4, 5 }, 'z' });
	t += in_pieces(r + 1);
	t += (long)many(r, 1.5, -r, 2.5f, 'e', -3, 4u, 1e6, r, 200, 0.1f);
	t += recurse(3, &sink_target);
	t += outer(r) + vla(r + 2) + constants(r);
	t += kinds(&deep, straddle, &packed, (v4si){ r, -r, 7, 8 }, 1.25L + r, r & 1 ? add : sub, head);
	t += (long)single(r + 0.5f, 1.25f);
	t += narrow((unsigned char)(250 + r), (signed char)-r, (unsigned short)(65530 + r), -7, r & 1);
	return t;			/* shapes:last */
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
		scrub();
		result += scalars(r - 1, 4000000000u, -5000000000L, (char)('a' + r), -100, -30000, 0xfedcba9876543210ULL, r & 1);
		result += (long)floats(0.5f + r, 1e10, 2);
		result += structs(a, (struct point){ r, 2 * r }, &points[r % 3], GREEN, F_A | F_C);
		result += shadow(r);
		result += pointers(np, &np, r ? a : NULL, r & 1 ? NULL : "text", numbers, 4);
		result += shapes(r);
	}
	printf("result %ld sink %d\n", result, sink);
	free(a);
	free(b);
	return 0;
}
