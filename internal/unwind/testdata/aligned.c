// A program whose frames gcc aligns to 32 bytes, in functions that also need the address of
// their arguments: their CFA is in memory, below the frame pointer.
#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void fill(double *v, int n, double seed)
{
	for (int i = 0; i < n; i++)
		v[i] = seed + i;
}

__attribute__((noinline)) double sum(int n, ...)
{
	_Alignas(32) double v[64];
	va_list ap;
	double s = 0;
	va_start(ap, n);
	fill(v, 64, va_arg(ap, double));
	va_end(ap);
	for (int i = 0; i < 64; i++)
		s += v[i] * v[i];
	return s;
}

int main(int argc, char **argv)
{
	_Alignas(32) double v[64];
	char *room = alloca(argc * 16);
	fill(v, 64, argc);
	snprintf(room, argc * 16, "%g", sum(argc, v[argc & 63]));
	puts(room);
	return 0;
}
