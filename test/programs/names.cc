// The meaning of names: each CHECK prints the compiler's values of its expressions,
// after the line's number. test/names_test.go collects them there.
extern "C" int printf(const char *, ...);

template <class T> long long number(const T &v) { return (long long)v; }
template <class T> long long number(T *const &v) { return (long long)(const volatile void *)v; }

template <class... T> __attribute__((noinline)) void show(int line, const T &...v) {
	printf("= %d", line);
	(printf(" %lld", number(v)), ...);
	printf("\n");
}

#define CHECK(...) show(__LINE__, __VA_ARGS__)

int w = 3, both = 13, shadowed = 17;
static int file_static = 19;
struct same { char c[77]; };
struct same unused_same;
int same = 23; // hides the class

namespace {
int hidden = 29;
enum { IN_ANON = 31 };
}

enum Color { RED = 1, GREEN };
enum class Scoped : unsigned char { RED = 101, BLUE };

namespace N {
int both = 12, w = 1000, only_n = 41;
inline namespace v2 {
int inl = 43;
namespace sub { int deep = 47; }
}
namespace { int anon = 53; }
namespace M {
int both = 14, m = 59;
enum { RED = 61 };
typedef char five[5];
}
using M::m;
typedef char six[6];
six unused_six;
M::five unused_five;
struct T { char c[11]; static int count; };
int T::count = 67;
int over(int);
}

namespace alias = N::M;
namespace U {
using namespace N::M;
using N::only_n;
int both = 71;
int f(int a);
}

struct Empty {};
struct Empty2 : Empty {};

struct Top {
	int top = 2, w = 201;
	static int st;
	enum { K = 79, RED = 83 };
	typedef char nine[9];
	nine unused_nine;
	struct In { int in = 89; static int sin; int g(); };
	virtual ~Top() {}
	int shadowed = 97;
	unsigned bits : 5, more : 7;
	union { int u1; char u2; };
	Top() : bits(21), more(99), u1(103) {}
};
int Top::st = 107;
int Top::In::sin = 109;

struct Left : virtual Top { int left = 5, lr = 111; };
struct Right : virtual Top { int right = 7, lr = 113; };
struct Plain : Empty { int plain = 11, both = 115; constexpr static int konst = 127; };
struct D : Left, Right, Plain, Empty2 {
	using Right::lr;
	int d = 131, x = 137;
	int &ref = d;
	int f(int p) const;
	static int s(int p);
	int lambdas(int p);
	template <class T, int Q> int tmpl(T t);
	struct Nested { int n = 139; int g(D *o); };
};

template <class T> struct Vec {
	T data[3];
	static T total;
	typedef T value;
	value last;
	int count(T first);
};
template <class T> T Vec<T>::total = 149;
template <class A, class B> struct Pair { A a; B b; };
template <class T> int Vec<T>::count(T first) {
	CHECK(first, total, data[1], sizeof(T), sizeof(value), sizeof(Vec), Vec::total, this->data[2]);
	return first;
}

int D::f(int p) const {
	int shadowed = p + 1;
	int *q = const_cast<int *>(&d);
	{
		int both = 151;
		CHECK(w, both, ::both, shadowed, ::shadowed, this->shadowed, D::both, Plain::both, N::both, N::M::both, U::both);
	}
	CHECK(top, left, right, lr, Left::lr, Right::lr, plain, d, x, ref, konst, Plain::konst, D::konst);
	CHECK(st, Top::st, D::st, K, RED, ::RED, Scoped::RED, (int)Scoped::BLUE, Color::GREEN, GREEN, N::M::RED, Top::RED);
	CHECK(sizeof(nine), sizeof(D), sizeof(Empty), sizeof(In), sizeof(D::In), In::sin, sizeof(struct same), same, sizeof(Top::nine));
	CHECK(bits, more, u1, (int)u2, this->bits + bits, (*this).more);
	CHECK(hidden, IN_ANON, file_static, ::hidden, N::anon, N::inl, N::v2::inl, N::sub::deep, N::v2::sub::deep, alias::m, N::m, U::only_n, U::m);
	CHECK(((const Top *)this)->w, ((const Right *)this)->right, (const Right *)this, (const Top *)this, this, (const Plain *)this, (const Empty2 *)this);
	CHECK(static_cast<const D *>((const Right *)this), static_cast<const D *>((const Plain *)this)->d, (const D *)(const Plain *)this == this, (const Right *)this == this);
	CHECK(reinterpret_cast<const Right *>(this), (const Right *)(const void *)this, (const Left *)(const D *)0, *q);
	CHECK(this->Left::lr, this->Right::lr, this->Top::w, this->Top::shadowed);
	CHECK(N::T::count, sizeof(N::T), sizeof(N::six), sizeof(alias::five), sizeof(struct N::T), Vec<int>::total, sizeof(Vec<char>::value), sizeof(Vec<Vec<char>>));
	return p + shadowed + *q;
}

int D::s(int p) {
	D o;
	D *op = &o;
	D &orf = o;
	Right *r = op;
	Top *t = r;
	CHECK(p, st, K, konst, o.top, op->w, orf.lr, r->right, r->top, t->w, op->Left::lr, o.Plain::both, sizeof(x), sizeof(D::d));
	CHECK(r == op, (D *)r == op, t == op, t == r, (Top *)op == t, op ? r : op, ((D *)r)->x, orf.ref, &o.ref, &op->u1);
	Right *none = 0;
	CHECK((D *)none, (Top *)none, (Left *)(D *)none, none == op, !none);
	return p;
}

int D::lambdas(int p) {
	int q = p * 2, both = 163;
	auto byValue = [=](int a) {
		CHECK(a, q, both, w, d, x, this->w, ::both, st, K, lr, top);
		return a + q + both + w + d;
	};
	auto byRef = [&, z = q + 1](int a) mutable {
		z += a;
		CHECK(z, q, ::w, N::w);
		return z + q;
	};
	auto copied = [*this](int a) {
		CHECK(a, d, x, top, ::both);
		return a + d + x + top;
	};
	static int local_static = 167;
	enum { LOCAL_K = 173 };
	typedef char local_t[21];
	local_t unused_local;
	struct Local {
		int both = 179, mine = 181;
		__attribute__((noinline)) int g() {
			CHECK(both, mine, local_static, LOCAL_K, sizeof(local_t), ::both, this->mine, K, st);
			return both;
		}
	} local;
	CHECK(q, both, local_static, LOCAL_K, sizeof(local_t), sizeof(Local), local.both, D::both, local.mine);
	return byValue(p) + byRef(1) + copied(2) + local.g();
}

template <class T, int Q> int D::tmpl(T t) {
	CHECK(t, Q, sizeof(T), both, w, ::both);
	return t + Q;
}

int D::Nested::g(D *o) {
	CHECK(n, o->d, st, K, konst, ::both, sizeof(Nested), sizeof(nine), o->w);
	return n;
}

int Top::In::g() {
	CHECK(in, sin, st, K, both, sizeof(nine), sizeof(Top), RED);
	return in;
}

int U::f(int a) {
	CHECK(a, both, m, only_n, ::both, w, N::w, alias::RED, ::RED, sizeof(five));
	{
		using namespace N;
		CHECK(inl, anon, sub::deep, sizeof(six), T::count, both);
	}
	{
		using N::w;
		namespace short_name = N::v2::sub;
		CHECK(w, ::w, short_name::deep, N::M::RED == 61);
	}
	return a;
}

int plain_function(int a, bool flag, char c, signed char sc, unsigned char uc, wchar_t wc, char16_t c16, char32_t c32) {
	int arr[2] = {a, 191};
	int &&rr = a + 1;
	const int limit = 193;
	CHECK(a, flag, c, sc, uc, wc, c16, c32, arr[1], rr, &rr, limit, RED, w, both, hidden, same);
	Vec<int> v = {{1, 2, 3}};
	Vec<Vec<char>> vv = {};
	Pair<unsigned long, const char *> pr = {195, 0};
	CHECK(v.data[1], v.total, Vec<int>::total, vv.data[1].data[1], pr.a, pr.b, sizeof(Pair<unsigned long, const char *>));
	for (int a = 197; a < 198; a++) {
		CHECK(a, w);
	}
	return v.count(2) + arr[0] + rr + limit + (int)pr.a;
}

int main() {
	D d;
	D::Nested n;
	Top::In in;
	Vec<char> vc = {{'a', 'b', 'c'}};
	int sum = d.f(4) + D::s(5) + d.lambdas(6) + d.tmpl<short, 8>(9) + n.g(&d) + in.g() + U::f(10) +
		plain_function(11, true, 'x', -3, 200, L'w', u'y', U'z') + vc.count('q');
	return sum == 0;
}
