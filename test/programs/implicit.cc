// Pointers that are optimised out, to objects that are in registers or are constants: see implicit_test.go.
struct pair {
	int a, b;
	long c;
};

struct holder {
	int n;
	const pair *p;
};

volatile int sink;

struct box {
	int width, height;
	inline __attribute__((always_inline)) int area(int k) const
	{
		int w = width;

		sink = w + k; // in box
		__asm__ volatile("nop");
		return w * height + k;
	}
};

static inline __attribute__((always_inline)) int sum(pair *p, const int &q, const char *text, const holder *h, const int *v)
{
	int before = p->a;

	sink = before + q; // in sum
	__asm__ volatile("nop");
	return p->a + p->b + (int)p->c + q + text[0] + h->n + h->p->b + v[1];
}

__attribute__((noinline)) int f(int x, int y)
{
	pair loc = {x, y, 5};
	holder hold = {y, &loc};
	const int v[] = {x, y, 7};
	int k = x + y;

	return sum(&loc, k, "literal", &hold, v) + sink;
}

__attribute__((noinline)) int g(int x, int y)
{
	box b = {x, y};

	return b.area(x) + sink;
}

int main(int argc, char **)
{
	return f(argc + 1, argc + 2) + g(argc + 3, argc + 4) == 0;
}
