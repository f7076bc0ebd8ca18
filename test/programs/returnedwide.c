// Functions that return values of 128 bits, of the x87, vectors, and structures and unions of these.
#include <complex.h>

typedef float v4 __attribute__((vector_size(16)));
typedef float v2 __attribute__((vector_size(8)));
typedef float v8 __attribute__((vector_size(32)));
typedef long w2 __attribute__((vector_size(16)));
#define MEMBERS(tag, ...) struct tag { __VA_ARGS__; };

MEMBERS(quad, __float128 q)
MEMBERS(quads, __float128 q[1])
MEMBERS(quadint, __float128 q; int i)
MEMBERS(sfloat, float a)
MEMBERS(svector, v4 v)
MEMBERS(nested, struct svector s)
MEMBERS(floatv, float x; v2 v)
MEMBERS(vfloat, v2 v; float x)
MEMBERS(intsv, int a[2]; v2 v)
MEMBERS(vectors, v2 a, b)
MEMBERS(longd, long double l)
MEMBERS(longds, long double a, b)
MEMBERS(mixed, float a; int b; double c)
MEMBERS(cdouble, double complex c)
MEMBERS(cfloat, float complex c; float f)
MEMBERS(clong, long double complex c)
MEMBERS(wide, __int128 i)
MEMBERS(large, v8 v)
struct __attribute__((packed)) packed { char c; __float128 q; };
union longint { long double l; int i; };
union vfloats { v4 v; float f[4]; };
union vints { v4 v; int f[4]; };
union vint { v4 v; int i; };
union cint { double complex c; long l; };
union quadlong { __float128 q; long l; };

volatile __float128 stored = 1.5;

#define LIST \
	F(__float128, f_quad, stored) F(__int128, f_int128, ((__int128)n << 70) + n) F(unsigned __int128, f_uint128, ((unsigned __int128)n << 90) + n) \
	F(double complex, f_cdouble, n + 2.5 * I) F(float complex, f_cfloat, n + 2.5f * I) F(long double complex, f_clong, n + 2.5L * I) \
	F(long double, f_long, n + 0.5L) F(v4, f_v4, (v4){n, 2, 3, 4}) F(v2, f_v2, (v2){n, 2}) F(w2, f_w2, (w2){n, -2}) F(v8, f_v8, (v8){n, 2, 3}) \
	F(struct quad, f_squad, {n + 1.5}) F(struct quads, f_squads, {{n + 1.5}}) F(struct quadint, f_quadint, {n + 1.5, n}) \
	F(struct sfloat, f_sfloat, {n}) F(struct svector, f_svector, {{n, 2, 3}}) F(struct nested, f_nested, {{{n, 2, 3}}}) \
	F(struct floatv, f_floatv, {n, {1, 2}}) F(struct vfloat, f_vfloat, {{1, 2}, n}) F(struct intsv, f_intsv, {{n, 2}, {3, 4}}) \
	F(struct vectors, f_vectors, {{1, n}, {3, 4}}) F(struct longd, f_longd, {n}) F(struct longds, f_longds, {n, 2}) \
	F(struct mixed, f_mixed, {1, n, 3}) F(struct cdouble, f_scdouble, {n + 2.5 * I}) F(struct cfloat, f_scfloat, {n + 2.5f * I, 3}) \
	F(struct clong, f_sclong, {n + 2.5L * I}) F(struct wide, f_wide, {n}) F(struct large, f_large, {{n, 2}}) F(struct packed, f_packed, {1, n + 1.5}) \
	F(union longint, f_longint, {n}) F(union vfloats, f_vfloats, {{n, 2, 3, 4}}) F(union vints, f_vints, {{n, 2, 3, 4}}) \
	F(union vint, f_vint, {{n, 2, 3, 4}}) F(union cint, f_cint, {n + 2.5 * I}) F(union quadlong, f_quadlong, {n + 1.5})

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone, noipa))
#endif

#define F(type, name, ...) KEPT type name(int n) { type x = __VA_ARGS__; return x; } type r_##name;
LIST

volatile int count;
KEPT void done(void) { count++; }
KEPT void none(void) { count++; }

int main(void)
{
#undef F
#define F(type, name, ...) r_##name = name(3);
	LIST
	none();
	done();
}
