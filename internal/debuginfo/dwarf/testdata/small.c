struct s { int a; struct s *next; unsigned b : 3; char c[4]; union { int u; float f; }; };
enum e { A = -1, B = 7 };
typedef struct s s_t;
static int counter;
extern struct opaque *later;
static inline __attribute__((always_inline)) int half(int v) { int h = v / 2; counter += h; return h; }
__attribute__((noinline)) int work(s_t *p, int n, enum e k)
{
	int total = 0;
	static int calls;
	for (int i = 0; i < n; i++) {
		int step = half(i) + p->a;
		total += step * k;
	}
	calls++;
	return total + half(n);
}
void _start(void)
{
	struct s x = { 1 };
	volatile int r = work(&x, 3, B);
	for (;;)
		counter += r;
}
