// Containers of the standard library. See TestContainers.
#include <array>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct Item {
	int x;
	std::string name;
	int size() const { return x; }
};

struct Holder {
	std::vector<std::string> words;
	std::wstring wide;
} holder{ { "one", "two words of a length that needs memory" }, L"h\u00e9" };
std::vector<std::string> many(20, "many");
template <class T> T shape = T(7); // see TestContainers: which instance is meant is not known
long unmade[3] = { 1, 2, 0 }; // read as a std::vector: it ends behind its memory

__attribute__((noinline)) long work(const std::vector<int> &v, const std::string &s, std::string_view sv, const std::array<short, 4> &a, const std::map<int, Item> &m,
	const std::unordered_map<int, int> &um, const std::list<int> &l, const std::deque<long> &d, const std::vector<bool> &bits,
	const std::unique_ptr<Item> &u, const std::shared_ptr<Item> &sp, std::vector<Item> *items, const std::vector<std::vector<int>> &deep)
{
	long sum = items->size() + holder.words.size() + many.size() + unmade[0] + shape<int> + long(shape<double>);
	asm volatile("" ::: "memory");
	return sum + v.size() + s.size() + sv.size() + a[1] + m.size() + um.size() + l.size() + d.size() + bits.size() + u->x + sp->size() + deep.size(); // look here
}

int main()
{
	std::vector<int> v{ 10, 20, 30 };
	std::map<int, Item> m;
	m[1] = Item{ 9, "nine" };
	std::unordered_map<int, int> um{ { 1, 2 }, { 3, 4 } };
	auto u = std::make_unique<Item>(Item{ 3, "three" });
	auto sp = std::make_shared<Item>(Item{ 4, "four, which is a name that needs memory" });
	std::vector<Item> items{ { 1, "a" }, { 2, "b" } }, none;
	printf("%ld\n", work(v, "hello", "view", { 4, 5, 6, 7 }, m, um, { 1, 2 }, { 7, 8 }, { true, false }, u, sp, &items, { { 1 }, { 2, 3 } }));
	printf("%ld\n", work({}, "", "", {}, {}, {}, {}, {}, {}, u, sp, &none, {}));
}
