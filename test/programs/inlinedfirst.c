/* A function whose body begins with a call that is inlined. */
static inline __attribute__((always_inline)) int inner(int k)
{
	return k + 5;
}

__attribute__((noinline)) int outer(int n)
{
	return inner(n) * n;
}

int main(void)
{
	return outer(3) != 24;
}
