// Functions with parameters of many types, which print what they were called with. Nothing is optimised, so that a
// parameter is in the frame, but not yet at the first instruction.
#include <stdio.h>
#include <stdarg.h>
#include <stdbool.h>
#include <complex.h>

/* LeakSanitizer does not work in a traced program. */
extern "C" const char *__asan_default_options() { return "detect_leaks=0"; }

#define N __attribute__((noinline))
struct small { int a; char b; };            /* one general register */
struct words { long a, b; };                /* two */
struct floats { float x, y, z; };           /* two vector registers */
struct mixed { double d; long n; };         /* one of each */
struct large { long a[5]; };                /* on the stack */
struct packed { char c; long n; } __attribute__((packed));
struct bits { unsigned a : 3, b : 13; unsigned long c : 40; };
union either { int i; float f; };
typedef int four __attribute__((vector_size(16)));

N void integers(bool t, signed char c, unsigned short s, int i, unsigned u, long l, unsigned long m, int n, char o)
{ printf("integers t=%d c=%d s=%d i=%d u=%u l=%ld m=%lu n=%d o=%d\n", t, c, s, i, u, l, m, n, o); }
N void numbers(float f, double d, int i, long double e, float g, int j)
{ printf("numbers f=%g d=%g i=%d e=%Lg g=%g j=%d\n", f, d, i, e, g, j); }
N void nine(double a, double b, double c, double d, double e, double f, double g, double h, double i, float j, int k)
{ printf("nine a=%g b=%g c=%g d=%g e=%g f=%g g=%g h=%g i=%g j=%g k=%d\n", a, b, c, d, e, f, g, h, i, j, k); }
N void wide(__int128 w, int i, __int128 v, int j) { printf("wide w=%ld i=%d v=%ld j=%d\n", (long)w, i, (long)v, j); }
N void halves(int a, int b, int c, int d, int e, __int128 w, int i)
{ printf("halves a=%d b=%d c=%d d=%d e=%d w=%ld i=%d\n", a, b, c, d, e, (long)w, i); }
N void structs(struct small s, struct words w, struct floats f, struct mixed m, int k)
{ printf("structs s.a=%d s.b=%d w.a=%ld w.b=%ld f.x=%g f.y=%g f.z=%g m.d=%g m.n=%ld k=%d\n", s.a, s.b, w.a, w.b, f.x, f.y, f.z, m.d, m.n, k); }
N void onStack(struct large l, int i, struct packed p, int j, struct bits b, union either e)
{ printf("onStack l.a[4]=%ld i=%d p.c=%d p.n=%ld j=%d b.a=%u b.b=%u b.c=%lu e.i=%d\n", l.a[4], i, p.c, p.n, j, b.a, b.b, (unsigned long)b.c, e.i); }
N struct large hidden(int a, long b) { struct large l = {{a, b, 3, 4, 5}}; printf("hidden a=%d b=%ld\n", a, b); return l; }
N struct words inRegisters(int a, long b) { struct words w = {a, b}; printf("inRegisters a=%d b=%ld\n", a, b); return w; }
N long double onX87(int a, double b) { printf("onX87 a=%d b=%g\n", a, b); return a; }
N void vectors(four v, int i) { printf("vectors v[1]=%d i=%d\n", v[1], i); }
N int various(int a, const char *format, ...)
{ va_list l; va_start(l, format); int n = va_arg(l, int); va_end(l); printf("various a=%d format[0]=%d\n", a, format[0]); return n; }
N static void unseen(int a, double b, char c) { printf("unseen a=%d b=%g c=%d\n", a, b, c); }
N static long unnamed(int a, int b, int) { printf("unnamed a=%d b=%d\n", a, b); return a; }
N __attribute__((ms_abi)) void other(int a, int b, double c) { printf("other a=%d b=%d c=%g\n", a, b, c); }
N void taken(int a, int b) { int *p = &b; *p += 0; printf("taken a=%d b=%d\n", a, b); }
struct object { long n; object(long n) : n(n) {} object(const object &o) : n(o.n) {} ~object() {} N void method(int k); N virtual int called(char c, object o); };
N void object::method(int k) { printf("object::method n=%ld k=%d\n", n, k); }
N int object::called(char c, object o) { printf("object::called c=%d o.n=%ld n=%ld\n", c, o.n, n); return 0; }
struct empty {};
struct base { int x; N base(int x); };
struct derived : virtual base { int y; N derived(int y); };
N base::base(int v) : x(v) { printf("base::base v=%d\n", v); }
N derived::derived(int w) : base(w + 1), y(w) { printf("derived::derived w=%d\n", w); }
struct more : derived { more() : base(3), derived(9) {} };
N void references(int &r, const double &d, object o, int k) { printf("references r=%d d=%g o.n=%ld k=%d\n", r, d, o.n, k); }
N void empties(empty e, int k) { printf("empties k=%d\n", k); }
N object made(int a) { printf("made a=%d\n", a); return object(a); }
N void pointers(int base::*m, void (object::*f)(int), int k) { printf("pointers k=%d\n", k); }
template <class T> N void generic(T t, int k) { printf("generic k=%d\n", k); }

int main(int argc, char **)
{
	for (int i = argc; i < argc + 3; i++) {
		integers(i & 1, -i, 60000 + i, -7 * i, 4000000000u + i, -5000000000L * i, 9000000000000000000UL + i, i, 'a' + i);
		numbers(i + 0.5f, i * 0.25, i, i + 0.75L, i * 3.0f, -i);
		nine(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9, i);
		wide(i - 9, i, i * 3, i + 1);
		halves(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6);
		small s = {i, (char)(i + 1)};
		words w = {i * 1000L, -i};
		floats f = {i + 0.5f, i + 1.5f, i + 2.5f};
		mixed m = {i * 0.5, i};
		structs(s, w, f, m, i);
		large l = {{1, 2, 3, 4, i}};
		packed p = {(char)i, i * 77L};
		bits b = {(unsigned)i & 7, (unsigned)i + 100, i * 1000000UL};
		either e = {i + 6};
		onStack(l, i, p, i + 1, b, e);
		hidden(i, i * 2);
		inRegisters(i, i * 3);
		onX87(i, i * 0.125);
		vectors(four{1, i, 3, 4}, i);
		various(i, "xyz" + i % 3, i);
		unseen(i, i * 1.5, 'A' + i);
		unnamed(i, i + 1, i + 2);
		other(i, i + 1, i * 2.0);
		taken(i, i + 1);
		object o(i * 11);
		o.method(i);
		object *q = &o;
		q->called('z' - i, object(i * 13));
		int n = i + 50;
		references(n, i * 2.5, o, i);
		empties(empty(), i);
		made(i);
		pointers(&base::x, &object::method, i);
		generic(o, i);
		generic(i, i);
		derived d(i + 20);
		more x;
		base z(i + 30);
	}
	return 0;
}
