// Names of functions in all forms that list prints.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>
namespace ns {
struct S {
	int v;
	int f(int) const;
	int f(double);
	explicit operator bool() const;
	int operator()(int a) { return a + v; }
	int operator[](int a) { return a * v; }
	S operator+(const S &o) const { return S{v + o.v}; }
	bool operator<(const S &o) const { return v < o.v; }
	S *operator->() { return this; }
	template <class T> T g(T t) { return t; }
};
int S::f(int a) const { return v + a; }
int S::f(double d) { return v + (int)d; }
S::operator bool() const { return v; }
}
template <class A, class B> int pairs(A a, B b) { return (int)a + (int)b; }
template <int N> int num() { return N; }
namespace { int anon(int x) { return x + 3; } }
int over(int a) { return a; }
int over(const char *s) { return s[0]; }
int over(std::vector<int> &v) { return v.size(); }
int over(const std::string &s) { return s.size(); }

int main()
{
	ns::S s{3}, t{4};
	auto l = [&](int q) { return q + s.v; };
	std::function<int(int)> fn = l;
	std::vector<int> v{1, 2};
	int r = s.f(1) + s.f(2.0) + (s + t).v + (bool)s + s(1) + s[2] + s->v + s.g<long>(3) + pairs<int, double>(1, 2.) + pairs<unsigned char, long>(1, 2);
	r += num<7>() + anon(1) + over(1) + over("x") + over(v) + over(std::string("long")) + l(2) + fn(4) + (s < t);
	printf("%d\n", r);
}
