/* A library that plugins.c opens and closes. */
__attribute__((noinline)) int plugin_work(int n)
{
	int twice = 2 * n;

	__asm__ volatile("" : : "r"(twice));
	return twice + 1;
}
