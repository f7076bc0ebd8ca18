#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace geo {
struct Base {
	int id = 1;
	virtual ~Base() {}
	virtual int area() const { return 0; }
};
class Shape : public Base {
public:
	Shape(int w, int h) : w(w), h(h) {}
	int area() const override;
	static int made;
	int w, h;
	int &ref = w;
};
int Shape::made = 3;
int Shape::area() const
{
	int a = w * h;
	return a + id;
}
namespace {
__attribute__((noinline)) int hidden(int v) { return v * 2; }
}
template <typename T> T largest(T a, T b)
{
	T r = a > b ? a : b;
	return r;
}
enum class Mode : unsigned char { Off, On = 200 };
}

int geo_total;

__attribute__((noinline)) int risky(int n)
{
	std::string text = "abc";
	try {
		if (n > 2)
			throw std::runtime_error("too big");
		geo_total += n;
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
		return -1;
	}
	return (int)text.size();
}

int main(int argc, char **argv)
{
	geo::Shape s(argc, 4);
	geo::Mode mode = geo::Mode::On;
	auto add = [&](int x) { return x + s.w; };
	int r = s.area() + risky(argc) + risky(argc + 5) + geo::largest(1, argc) + (int)geo::largest(1.5, 2.5);
	r += add(3) + geo::hidden(r) + (int)mode + geo::Shape::made;
	std::printf("%d\n", r);
	return 0;
}
