/* core is linked like a kernel: at its addresses, with code from _stext on. */
volatile int state = 1;

void _stext(void) {}

static inline __attribute__((always_inline)) void note(int n)
{
	state = n;
}

__attribute__((noinline)) int read_some(int n)
{
	note(n + 1);
	return state;
}

int main_loop(int n)
{
	while (n-- > 0)
		state += read_some(n);
	return state;
}
