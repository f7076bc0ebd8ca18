// A program of many shapes for rewrite_test.go: its output must not change when
// every place that can be patched is patched.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t sum;
static void mix(uint64_t v) { sum = (sum ^ v) * 0x100000001b3ULL; }

static int dense(int op, int a, int b) {
	switch (op) {
	case 0: return a + b;
	case 1: return a - b;
	case 2: return a * b;
	case 3: return b ? a / b : -1;
	case 4: return a ^ b;
	case 5: return a << (b & 31);
	case 6: return a >> (b & 31);
	case 7: mix(a); return a & b;
	case 8: return a | b;
	case 9: abort();
	case 12: return a == b;
	default: return op;
	}
}

static int interpret(const unsigned char *pc) {
	static const void *const labels[] = { &&push, &&add, &&mul, &&dup, &&dec, &&jnz, &&halt };
	int stack[32], *sp = stack;
	goto *labels[*pc++];
push: *sp++ = *pc++; goto *labels[*pc++];
add: sp[-2] += sp[-1]; sp--; goto *labels[*pc++];
mul: sp[-2] *= sp[-1]; sp--; goto *labels[*pc++];
dup: sp[0] = sp[-1]; sp++; goto *labels[*pc++];
dec: sp[-1]--; goto *labels[*pc++];
jnz: if (sp[-1]) pc -= *pc; else pc++; goto *labels[*pc++];
halt: return sp[-1];
}

typedef int (*op)(int, int);
static int f_add(int a, int b) { return a + b; }
static int f_sub(int a, int b) { return a - b; }
static int f_max(int a, int b) { return a > b ? a : b; }
struct obj { const op *table; int state; };
static const op table1[] = { f_add, f_sub, f_max };
static const op table2[] = { f_max, f_add, f_sub };
static int virtual_call(struct obj *o, int i, int a, int b) { return o->state += o->table[i](a, b); }
static int tail(struct obj *o, int i, int a, int b) { return o->table[i](a, b); }

static int compare(const void *a, const void *b) {
	const int *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static long ack(long m, long n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }

static double poly(double x, const double *c, int n) {
	double r = 0;
	for (int i = n - 1; i >= 0; i--) r = r * x + c[i];
	return r;
}

struct big { int a[10]; double d; char s[20]; };
static struct big make(int n) {
	struct big b = { .d = n / 3.0 };
	for (int i = 0; i < 10; i++) b.a[i] = n * i;
	snprintf(b.s, sizeof b.s, "big%d", n);
	return b;
}

static __thread int tls;
static jmp_buf jb;
static void thrower(int n) { if (n == 0) longjmp(jb, 7); thrower(n - 1); }

static unsigned __int128 wide(uint64_t a, uint64_t b) { return (unsigned __int128)a * b + a; }
static int bits(uint32_t x) { return __builtin_popcount(x) + (x ? __builtin_ctz(x) + __builtin_clz(x) : 0); }
static int checked(int a, int b, int *r) { return __builtin_add_overflow(a, b, r); }

int main(void) {
	for (int i = 0; i < 3000; i++) {
		for (int o = 0; o < 14; o++) if (o != 9) mix(dense(o, i * 7919, i - 50));
		mix(bits(i * 2654435761u));
		int r; mix(checked((int)(i * 1000000u), (int)(i * 999999u), &r) + r);
		unsigned __int128 w = wide(i * 0x123456789abcdefULL, ~0ULL - i);
		mix(w); mix(w >> 64);
		tls += i; mix(tls);
	}
	const unsigned char prog[] = { 0, 1, 0, 200, 3, 2, 4, 5, 7, 6 };
	mix(interpret((const unsigned char[]){ 0, 5, 0, 7, 2, 0, 3, 1, 6 }));
	mix(sizeof prog);
	struct obj o1 = { table1, 0 }, o2 = { table2, 0 };
	for (int i = 0; i < 1000; i++) {
		mix(virtual_call(i & 1 ? &o1 : &o2, i % 3, i, 500));
		mix(tail(i & 2 ? &o1 : &o2, i % 3, i, 7));
	}
	static int v[2000];
	for (int i = 0; i < 2000; i++) v[i] = (int)((unsigned)i * 2654435761u);
	qsort(v, 2000, sizeof *v, compare);
	for (int i = 0; i < 2000; i++) mix(v[i]);
	mix(ack(2, 9));
	const double c[] = { 1, -2.5, 3.25, 0.125 };
	for (int i = 0; i < 100; i++) { double d = poly(i * 0.37, c, 4); uint64_t u; memcpy(&u, &d, 8); mix(u); }
	for (int i = 0; i < 100; i++) { struct big b = make(i); mix(b.a[9]); mix((uint64_t)(b.d * 1000)); mix(strlen(b.s) + b.s[3]); }
	int j = setjmp(jb);
	if (!j) thrower(20);
	mix(j);
	char text[4096] = "";
	for (int i = 0; i < 200; i++) { char w[16]; sprintf(w, "%d,", i * i); strncat(text, w, sizeof text - strlen(text) - 1); }
	for (char *t = strtok(text, ","); t; t = strtok(0, ",")) mix(strtol(t, 0, 10));
	printf("%016llx\n", (unsigned long long)sum);
	return 0;
}
