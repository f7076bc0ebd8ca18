/* Structs, complex numbers and wide integers that optimisers split over registers, and drop in part. */
#include <stdio.h>

typedef struct {
	int a;
	double d;
} mix;
typedef struct {
	double x, y;
} point;
typedef __int128 wide;

volatile double vd = 1.5;
volatile int vi = 3;

__attribute__((noinline)) double structs(mix m, point p, double _Complex z)
{
	vi++;
	mix k = { vi, m.d * 2 };
	vi += k.a;
	point r = { p.y, p.x };
	vi++; /* all of k */
	vd = k.d + r.x;
	vi++; /* k.d is not needed any more */
	vd = r.y + m.a + __real__ z;
	return r.y + k.a;
}

__attribute__((noinline)) wide integers(wide a, wide b)
{
	wide s = a * b;
	s ^= a >> 3;
	vi++;
	return s + a;
}

int main(void)
{
	double r = structs((mix){ 7, 2.5 }, (point){ 1.25, 3.5 }, 4.0 + 2.0i);
	wide s = integers((wide)1 << 70 | 5, 3);
	printf("%g %ld\n", r, (long)(s >> 64));
	return 0;
}
