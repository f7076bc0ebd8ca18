// Reads lines "op class width a b" (numbers in hexadecimal) and writes what the
// processor makes of them, by the instruction that a compiler would use.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;

#define INT(name, e8, e4)                                         \
	if (!strcmp(op, name)) {                                  \
		if (w == 8) { u64 a = x, b = y; (void)b; return (e8); }        \
		else { u32 a = x, b = y; (void)b; return (u32)(e4); }          \
	}

static u64 integer(const char *op, int w, u64 x, u64 y) {
	INT("add", a + b, a + b)
	INT("sub", a - b, a - b)
	INT("mul", a * b, a * b)
	INT("and", a & b, a & b)
	INT("or", a | b, a | b)
	INT("xor", a ^ b, a ^ b)
	INT("neg", -a, -a)
	INT("not", ~a, ~a)
	INT("eq", a == b, a == b)
	INT("ne", a != b, a != b)
	INT("slt", (int64_t)a < (int64_t)b, (int32_t)a < (int32_t)b)
	INT("sle", (int64_t)a <= (int64_t)b, (int32_t)a <= (int32_t)b)
	INT("ult", a < b, a < b)
	INT("ule", a <= b, a <= b)
	INT("shl", ({ __asm__("shlq %%cl, %0" : "+r"(a) : "c"(b)); a; }), ({ __asm__("shll %%cl, %0" : "+r"(a) : "c"(b)); a; }))
	INT("shr", ({ __asm__("shrq %%cl, %0" : "+r"(a) : "c"(b)); a; }), ({ __asm__("shrl %%cl, %0" : "+r"(a) : "c"(b)); a; }))
	INT("sar", ({ __asm__("sarq %%cl, %0" : "+r"(a) : "c"(b)); a; }), ({ __asm__("sarl %%cl, %0" : "+r"(a) : "c"(b)); a; }))
	// Where C and the processor have no answer, the IR has one of its own.
	INT("udiv", b ? a / b : 0, b ? a / b : 0)
	INT("urem", b ? a % b : a, b ? a % b : a)
	INT("sdiv", !b ? 0 : b == (u64)-1 ? -a : (u64)((int64_t)a / (int64_t)b), !b ? 0 : b == (u32)-1 ? -a : (u32)((int32_t)a / (int32_t)b))
	INT("srem", !b ? a : b == (u64)-1 ? 0 : (u64)((int64_t)a % (int64_t)b), !b ? a : b == (u32)-1 ? 0 : (u32)((int32_t)a % (int32_t)b))
	if (!strcmp(op, "bitlen")) return x ? 64 - __builtin_clzll(x) : 0;
	if (!strcmp(op, "sext")) return w == 1 ? (u64)(int8_t)x : w == 2 ? (u64)(int16_t)x : (u64)(int32_t)x;
	if (!strcmp(op, "zext")) return w == 1 ? (uint8_t)x : w == 2 ? (uint16_t)x : (u32)x;
	printf("unknown integer operation %s\n", op);
	exit(1);
}

static double d(u64 x) { double r; memcpy(&r, &x, 8); return r; }
static u64 bd(double x) { u64 r; memcpy(&r, &x, 8); return r; }
static float f(u64 x) { u32 y = x; float r; memcpy(&r, &y, 4); return r; }
static u64 bf(float x) { u32 r; memcpy(&r, &x, 4); return r; }

// SSE by hand, so that the compiler does not exchange operands.
#define ARITH(name, insn, suffix, ctype, from, to)                           \
	if (!strcmp(op, name)) {                                             \
		ctype a = from(x), b = from(y);                              \
		__asm__(insn suffix " %1, %0" : "+x"(a) : "x"(b));           \
		return to(a);                                                \
	}

static u64 toUnsigned(double x) {
	int64_t r;
	if (x >= 0x1p63) {
		x -= 0x1p63;
		__asm__("cvttsd2si %1, %0" : "=r"(r) : "x"(x));
		return (u64)r ^ (1ull << 63);
	}
	__asm__("cvttsd2si %1, %0" : "=r"(r) : "x"(x));
	return r;
}

static u64 float64(const char *op, u64 x, u64 y) {
	ARITH("fadd", "add", "sd", double, d, bd)
	ARITH("fsub", "sub", "sd", double, d, bd)
	ARITH("fmul", "mul", "sd", double, d, bd)
	ARITH("fdiv", "div", "sd", double, d, bd)
	if (!strcmp(op, "fneg")) { double a = d(x), s = d(1ull << 63); __asm__("xorps %1, %0" : "+x"(a) : "x"(s)); return bd(a); }
	if (!strcmp(op, "feq")) return d(x) == d(y);
	if (!strcmp(op, "fne")) return d(x) != d(y);
	if (!strcmp(op, "flt")) return d(x) < d(y);
	if (!strcmp(op, "fle")) return d(x) <= d(y);
	if (!strcmp(op, "ftof")) { double a = d(x); float r; __asm__("cvtsd2ss %1, %0" : "=x"(r) : "x"(a)); return bf(r); }
	if (!strcmp(op, "stof")) return bd((double)(int64_t)x);
	if (!strcmp(op, "utof")) return bd((double)x);
	if (!strcmp(op, "ftos")) { double a = d(x); int64_t r; __asm__("cvttsd2si %1, %0" : "=r"(r) : "x"(a)); return r; }
	if (!strcmp(op, "ftou")) return toUnsigned(d(x));
	if (!strcmp(op, "fbits") || !strcmp(op, "bitsf")) return x;
	printf("unknown f64 operation %s\n", op);
	exit(1);
}

static u64 float32(const char *op, u64 x, u64 y) {
	ARITH("fadd", "add", "ss", float, f, bf)
	ARITH("fsub", "sub", "ss", float, f, bf)
	ARITH("fmul", "mul", "ss", float, f, bf)
	ARITH("fdiv", "div", "ss", float, f, bf)
	if (!strcmp(op, "fneg")) { float a = f(x), s = f(1u << 31); __asm__("xorps %1, %0" : "+x"(a) : "x"(s)); return bf(a); }
	if (!strcmp(op, "feq")) return f(x) == f(y);
	if (!strcmp(op, "fne")) return f(x) != f(y);
	if (!strcmp(op, "flt")) return f(x) < f(y);
	if (!strcmp(op, "fle")) return f(x) <= f(y);
	if (!strcmp(op, "ftof")) { float a = f(x); double r; __asm__("cvtss2sd %1, %0" : "=x"(r) : "x"(a)); return bd(r); }
	if (!strcmp(op, "stof")) return bf((float)(int64_t)x);
	if (!strcmp(op, "utof")) return bf((float)x);
	if (!strcmp(op, "ftos")) { float a = f(x); int64_t r; __asm__("cvttss2si %1, %0" : "=r"(r) : "x"(a)); return r; }
	if (!strcmp(op, "ftou")) return toUnsigned(f(x));
	if (!strcmp(op, "fbits") || !strcmp(op, "bitsf")) return (u32)x;
	printf("unknown f32 operation %s\n", op);
	exit(1);
}

int main(void) {
	char op[16], class[8];
	int w;
	u64 a, b;
	while (scanf("%15s %7s %d %lx %lx", op, class, &w, &a, &b) == 5) {
		u64 r = !strcmp(class, "i64") ? integer(op, w, a, b) : !strcmp(class, "f64") ? float64(op, a, b) : float32(op, a, b);
		printf("%lx\n", r);
	}
	return 0;
}
