// Functions that are left by a return, an exception, longjmp, or a jump to another function.
#include <csetjmp>
#include <cstdio>
#include <thread>
#include <vector>

#define KEPT __attribute__((noinline, noclone))

struct guard { int *n; ~guard() { ++*n; } };
static thread_local std::jmp_buf target;
static thread_local int unwound;

extern "C" {
KEPT int ends(int n) { if (n % 3 == 1) throw n; if (n % 3 == 2) longjmp(target, n); return n; }
KEPT int passes(int n) { guard g{&unwound}; return ends(n) + 1; }
KEPT int plain(int n) { return ends(n) + 1; }
KEPT int hands_over(int n) { return ends(n * 3); }
KEPT long deep(int n) { if (n == 0) return 0; return deep(n - 1) + n; }
KEPT int chooses(int n) { switch (n % 7) { case 0: return 5; case 1: return n; case 2: return ends(n * 3); case 3: return 9 * n; case 4: return puts("") ; case 5: return -n; } return 1; }
}

static void work(int times, long *sum)
{
	long s = 0;
	for (int i = 0; i < times; i++) {
		try { s += passes(i % 3 == 2 ? 0 : i); } catch (int n) { s += n; }
		if (setjmp(target) == 0)
			try { s += plain(i); } catch (int n) { s -= n; }
		s += hands_over(i) + deep(i % 50) + chooses(i);
	}
	*sum = s + unwound;
}

int main()
{
	std::vector<std::thread> list;
	long sums[4];
	for (long &s : sums)
		list.emplace_back(work, 90, &s);
	for (auto &t : list)
		t.join();
	for (long s : sums)
		printf("%ld\n", s);
}
