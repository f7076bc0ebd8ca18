/* The library that memory.c loads again and again. */
__attribute__((noinline)) long plugged(long n, long k)
{
	__asm__ volatile("");
	return n * 31 + k;
}
