// Functions that return values of every class of the calling convention; each is called from main only.
#include <complex.h>
#include <stdint.h>

struct pair { int a; double b; };
struct ints { char c; short s; int i; long l; };
struct floats { float x, y, z; };
struct mixed { float x, y; long z; };
struct bits { unsigned a : 3, b : 7; long c : 40; };
struct large { long a[5]; };
struct __attribute__((packed)) packed { char c; long l; };
union either { double d; long l; };
struct extended { long double x; };
struct nested { struct { long double x[1]; } in; };
enum colour { red, green, blue = 1000 };

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone, noipa))
#endif
#define F(type, name, value) KEPT type name(int n) { return value; }

F(int, f_int, n * -77777)
F(unsigned char, f_uchar, n * 7)
F(signed char, f_schar, -n)
F(short, f_short, n * -1000)
F(uint64_t, f_u64, 0xf123456789abcdefu - (unsigned)n)
F(_Bool, f_bool, n & 1)
F(enum colour, f_enum, n & 1 ? blue : green)
F(const char *, f_text, n & 1 ? "odd" : "even")
F(double, f_double, n / 3.0)
F(float, f_float, n / 3.0f)
F(double complex, f_cdouble, n + 2.5 * I)
F(float complex, f_cfloat, n - 1.5f * I)
F(long double, f_long, n / 3.0L)
F(long double complex, f_clong, n / 7.0L + 0.5L * I)
F(__int128, f_wide, ((__int128)n << 70) + n)
F(struct extended, f_extended, ((struct extended){n / 3.0L}))
F(struct nested, f_nested, ((struct nested){{{n / 9.0L}}}))
F(struct pair, f_pair, ((struct pair){n, n / 4.0}))
F(struct ints, f_ints, ((struct ints){n, -n, n * 3, n * 5l}))
F(struct floats, f_floats, ((struct floats){n, n + .5f, n + .25f}))
F(struct mixed, f_mixed, ((struct mixed){n, n + .5f, -n}))
F(struct bits, f_bits, ((struct bits){n, n * 3, -n}))
F(struct large, f_large, ((struct large){{n, n + 1, n + 2, n + 3, n + 4}}))
F(struct packed, f_packed, ((struct packed){n, n * 9}))
F(union either, f_either, ((union either){.l = n}))

volatile char sink;

int main(void)
{
	for (int n = 0; n < 11; n++) {
		sink = f_int(n), sink = f_uchar(n), sink = f_schar(n), sink = f_short(n), sink = f_u64(n), sink = f_bool(n), sink = f_enum(n);
		sink = *f_text(n), sink = f_double(n), sink = f_float(n), sink = creal(f_cdouble(n)), sink = creal(f_cfloat(n)), sink = f_wide(n);
		sink = f_long(n), sink = creal(f_clong(n));
		sink = f_extended(n).x, sink = f_nested(n).in.x[0];
		sink = f_pair(n).a, sink = f_ints(n).i, sink = f_floats(n).x, sink = f_mixed(n).x, sink = f_bits(n).a;
		sink = f_large(n).a[0], sink = f_packed(n).c, sink = f_either(n).l;
	}
}
