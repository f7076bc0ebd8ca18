// Callers of C++: members by this, functions of one name, a lambda. See frames_test.go.
#include <string>

volatile int sink;

__attribute__((noinline)) void leaf(int n)
{
	sink = sink + n; // here
}

struct Base {
	int base = 3;
	virtual ~Base() {}
};

struct Box : Base {
	int width;
	std::string name;
	Box(int w) : width(w), name("a box") {}
	__attribute__((noinline)) int area(const int &height) const
	{
		leaf(width * height);
		return width * height + sink;
	}
};

template <class T> __attribute__((noinline)) T twice(T t)
{
	T u = t + t;

	leaf((int)u);
	return u + sink;
}

int main(int argc, char **)
{
	Box b(argc + 3);
	int h = 7;
	auto l = [&](int q) { leaf(q + h); return h + sink; };

	sink = sink + b.area(h);
	sink = sink + twice(2) + (int)twice(2.5);
	return l(5) < 0;
}
