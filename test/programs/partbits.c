// Structures with bit fields of which some members are optimised out, and functions without arguments that call.
struct bits {
	int a;
	signed char c;
	unsigned d : 5;
	int e : 7;
	long f;
	void *next;
};

volatile int sink;

static inline __attribute__((always_inline)) int inner(struct bits *p, int k)
{
	sink = k; // in inner
	__asm__ volatile("nop");
	p->a += k;
	return p->a + p->d + (int)p->f;
}

int main(void)
{
	struct bits v = {sink + 3, 2, 9, -5, 7, 0};
	int r = inner(&v, 4);

	return sink == r;
}
