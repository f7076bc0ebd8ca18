// Methods, references, templates and exceptions.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
	virtual ~Shape() {}
	virtual double area(int scale) const = 0;
};

struct Square : Shape {
	explicit Square(double s) : side(s) {}
	double area(int scale) const override;
	double side;
};

double Square::area(int scale) const
{
	if (scale > 3)
		throw std::out_of_range("scale");
	return side * side * scale;
}

template <typename T> __attribute__((noinline)) T add(const T &a, const T &b)
{
	return a + b;
}

__attribute__((noinline)) void finished()
{
	asm volatile("" ::: "memory");
}

int main()
{
	std::vector<std::unique_ptr<Shape>> list;
	double sum = 0;
	int caught = 0;
	for (int i = 1; i <= 5; i++)
		list.emplace_back(new Square(i));
	for (int scale = 0; scale < 6; scale++)
		for (auto &s : list) {
			try {
				sum = add(sum, s->area(scale));
			} catch (const std::out_of_range &) {
				caught = add(caught, 1);
			}
		}
	std::printf("%g %d\n", sum, caught);
	std::fflush(stdout);
	finished();
	return 0;
}
