// Functions that are instances of templates. See TestTemplates.
#include <cstdio>

namespace ns {
template <class T> struct Box {
	T v;
	__attribute__((noinline)) T get(T a)
	{
		asm volatile("");
		return v + a;
	}
};
template <class T> __attribute__((noinline)) T big(T a, T b)
{
	asm volatile("");
	return a > b ? a : b;
}
template <class T, int n> __attribute__((noinline)) T add(T a)
{
	asm volatile("");
	return a + n;
}
template <class F> __attribute__((noinline)) int via(F f, int n)
{
	asm volatile("");
	return f("ab") + n;
}
struct Int {
	int n;
	__attribute__((noinline)) Int operator*(Int o) const
	{
		asm volatile("");
		return { n * o.n };
	}
	__attribute__((noinline)) Int operator*=(Int o)
	{
		asm volatile("");
		n *= o.n;
		return *this;
	}
};
int length(const char *s)
{
	return s[0] ? 1 + length(s + 1) : 0;
}
}

int main()
{
	ns::Box<int> b{ 4 };
	ns::Box<unsigned long> c{ 5 };
	ns::Int i{ 6 };
	i *= i * i;
	printf("%d %d\n", ns::via(ns::length, 1), i.n);
	printf("%d %lu %ld %hu %d\n", b.get(1), c.get(2), ns::big<long>(3, 4), ns::big<unsigned short>(5, 6), ns::add<int, 3>(1));
}
