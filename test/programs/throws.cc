// Exceptions that pass through traced functions: throws ROUNDS.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

struct Guard {
	long &n;
	explicit Guard(long &x) : n(x) {}
	__attribute__((noinline)) ~Guard() { n++; }
};

static long guards;

__attribute__((noinline)) long deep(int n, const std::string &s)
{
	Guard g(guards);
	if (n == 0) {
		if (s.size() % 3 == 0)
			throw std::runtime_error("deep " + s);
		if (s.size() % 3 == 1)
			throw 42L;
		return s.size();
	}
	return deep(n - 1, s) + 1;
}

__attribute__((noinline)) long catcher(int n, const std::string &s)
{
	try {
		return deep(n, s);
	} catch (const std::runtime_error &e) {
		return std::string(e.what()).size();
	} catch (long v) {
		return v;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	long sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += catcher(i % 7, std::string(i % 11, 'x'));
	std::printf("sum %ld guards %ld\n", sum, guards);
	return 0;
}
