// Types of C++ in values: names without tags, enumerators with their scopes. See TestCxxTypes.
#include <cstdio>

namespace ns {
enum Colour { RED, GREEN = 5 };
enum class Deep : short { LOW = 1, HIGH };
namespace {
enum Hidden { H1 = 3 };
}
enum Flags { FA = 1, FB = 2, FC = 4 };
struct Base {
	enum Kind { KA = 2, KB = 7 };
	Kind k;
};
template <class T> struct Box : Base {
	T v;
	Box *next;
	union U {
		int i;
		float f;
	} u;
};
}
enum Plain { P0, P1 };
struct Only : ns::Base { }; // nothing of its own
struct Top {
	int x;
	ns::Box<int> *b;
	Plain (*fn)(ns::Colour, Top &);
};
struct Second {
	int s0, s1[3];
	int plain(double) const { return 4; }
};
struct Both : Top, Second {
	int own;
	int get(int n) { return n + own; }
	virtual int over() { return 5; }
};
struct Members {
	int Both::*own = &Both::own;
	int Both::*none = nullptr;
	int Both::*inherited = &Second::s0;
	int (Both::*array)[3] = &Second::s1;
	int Second::*first = &Second::s0;
	int (Both::*get)(int) = &Both::get;
	int (Both::*nothing)(int) = nullptr;
	int (Both::*adjusted)(double) const = &Second::plain;
	int (Both::*over)() = &Both::over;
} members;
Both both; // so that the class is described

__attribute__((noinline)) int work(Top *t, ns::Colour c, ns::Deep d, const ns::Box<int> &r, Plain p, ns::Hidden h, ns::Flags f, ns::Base::Kind k, ns::Box<int>::U *u, const Only *o)
{
	asm volatile("" ::: "memory");
	return t->x + c + (int)d + r.v + p + h + f + k + u->i + o->k; // stop here
}

int main()
{
	ns::Box<int> b;
	b.v = 3;
	b.next = &b;
	b.k = ns::Base::KB;
	b.u.i = 5;
	Only o;
	o.k = ns::Base::KA;
	Top t = { 1, &b, nullptr };
	printf("%d\n", work(&t, ns::GREEN, ns::Deep::HIGH, b, P1, ns::H1, (ns::Flags)5, ns::Base::KB, &b.u, &o));
}
