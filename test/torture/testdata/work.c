/* Input of cc1: most features of C. */
typedef __SIZE_TYPE__ size_t;
struct point { int x, y; double w[4]; unsigned flag : 3, rest : 29; };
union mix { long l; double d; char c[8]; };
enum color { RED, GREEN = 5, BLUE };
static const char *const names[] = { "red", "green", "blue" };
extern int printf(const char *, ...);
extern void *memcpy(void *, const void *, size_t);
static inline int square(int v) { return v * v; }
static int table[256];
__attribute__((noinline)) static double norm(const struct point *p)
{
	double s = 0;
	for (int i = 0; i < 4; i++)
		s += p->w[i] * p->w[i];
	return s / (p->flag + 1);
}
int dispatch(int op, int a, int b)
{
	switch (op) {
	case 0: return a + b;
	case 1: return a - b;
	case 2: return a * b;
	case 3: return b ? a / b : 0;
	case 4: return a << (b & 31);
	case 5: return a >> (b & 31);
	case 6: return a ^ b;
	case 7: return a % (b | 1);
	case 90: return square(a) - square(b);
	default: return -1;
	}
}
void fill(float *restrict out, const float *restrict in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] * 2.5f + (float)i;
}
unsigned hash(const unsigned char *s)
{
	unsigned h = 5381;
	while (*s)
		h = h * 33 ^ *s++;
	return h;
}
void sort(int *v, int n)
{
	if (n < 2)
		return;
	int p = v[n / 2], i = 0, j = n - 1;
	for (;; i++, j--) {
		while (v[i] < p) i++;
		while (v[j] > p) j--;
		if (i >= j) break;
		int t = v[i]; v[i] = v[j]; v[j] = t;
	}
	sort(v, i);
	sort(v + i, n - i);
}
__int128 wide(__int128 a, unsigned long b) { return a * b + (a >> 3); }
_Complex double turn(_Complex double z) { return z * z + 1.0; }
_Thread_local int mine;
int atomic(int *p) { return __atomic_fetch_add(p, mine++, __ATOMIC_SEQ_CST) + __builtin_popcount(*p); }
int vla(int n) { int a[n]; for (int i = 0; i < n; i++) a[i] = i * n; return a[n - 1]; }
void *computed(int i) { static void *where[] = { &&one, &&two }; goto *where[i & 1]; one: return names; two: return table; }
int main(int argc, char **argv)
{
	struct point p = { 1, 2, { 1, 2, 3, 4 }, 3, 9 };
	union mix m = { .d = 1.5 };
	for (int i = 0; i < 256; i++)
		table[i] = dispatch(i % 10, i, argc);
	sort(table, 256);
	printf("%f %ld %s %d %u\n", norm(&p), m.l, names[BLUE % 3], table[argc], hash((unsigned char *)argv[0]));
	return (int)wide(argc, 7) + atomic(&table[3]) + vla(argc + 3);
}
