__attribute__((noinline)) long shared_code(long i)
{
	i *= 3;
	__asm__ volatile("" : "+r"(i));
	return i + 1;
}
