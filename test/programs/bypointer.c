/* Arguments that are known from callers only, of functions that are called by pointers, and in floating point
 * (test/callers_test.go). */
volatile long sink;

__attribute__((noipa)) void touch(long x) { sink += x; }

__attribute__((noipa)) void first(long a, long b)
{
	touch(a + b);
	touch(2); /* in first */
	sink++;
}

__attribute__((noipa)) void second(long a, long b)
{
	touch(a - b);
	touch(3); /* in second */
	sink++;
}

/* It ends by a jump to second, which then returns to where this one was called by a pointer. */
__attribute__((noipa)) void hop(long a, long b)
{
	touch(a);
	second(1000, b);
}

__attribute__((noipa)) void call(void (*run)(long, long), long n)
{
	run(n, 5);
	run(n + 10, 6);
	touch(n);
}

__attribute__((noipa)) double scaled(double x, float y, long n)
{
	sink += (long)(x * y);
	touch(n);
	touch(4); /* in scaled */
	sink++;
	return 1;
}

int main(int argc, char **argv)
{
	call(first, argc + 40);
	call(second, argc + 41);
	call(hop, argc + 42);
	sink += scaled(2.5, 0.5f, 7);
	sink += scaled(-4, 8, 9);
	return 0;
}
