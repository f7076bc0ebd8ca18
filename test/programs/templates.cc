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
}

int main()
{
	ns::Box<int> b{ 4 };
	ns::Box<unsigned long> c{ 5 };
	printf("%d %lu %ld %hu %d\n", b.get(1), c.get(2), ns::big<long>(3, 4), ns::big<unsigned short>(5, 6), ns::add<int, 3>(1));
}
