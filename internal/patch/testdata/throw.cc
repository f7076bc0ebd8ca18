// Exceptions through patched calls, for rewrite_test.go: the unwinder finds the
// landing pads by the return addresses on the stack.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape { virtual ~Shape() {} virtual double area(int k) const = 0; };
struct Square : Shape { double s; Square(double x) : s(x) {} double area(int k) const override { if (k % 7 == 0) throw std::out_of_range("seven"); return s * s; } };
struct Circle : Shape { double r; Circle(double x) : r(x) {} double area(int k) const override { if (k % 11 == 0) throw k; return 3 * r * r; } };
static int alive;
struct Guard { std::string name; Guard(int i) : name("guard" + std::to_string(i)) { alive++; } ~Guard() { alive--; } };

static double deep(const Shape &s, int n, int k) {
	Guard g(n);
	if (n == 0) return s.area(k);
	return deep(s, n - 1, k) + g.name.size();
}

int main() {
	std::vector<std::unique_ptr<Shape>> shapes;
	for (int i = 0; i < 10; i++) { if (i % 2) shapes.emplace_back(new Square(i)); else shapes.emplace_back(new Circle(i)); }
	std::map<std::string, int> seen;
	double sum = 0;
	for (int k = 1; k < 500; k++) {
		try {
			try { sum += deep(*shapes[k % 10], k % 13, k); }
			catch (int n) { seen["int"] += n; throw std::runtime_error("again " + std::to_string(n)); }
		} catch (const std::out_of_range &e) { seen[e.what()]++; }
		catch (const std::exception &e) { seen[std::string(e.what()).substr(0, 5)]++; }
	}
	std::function<int(int)> fib = [&](int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); };
	for (auto &p : seen) printf("%s=%d ", p.first.c_str(), p.second);
	printf("%.3f %d %d\n", sum, alive, fib(15));
}
