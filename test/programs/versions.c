/* A library with two versions of one function, as libc has of memcpy, and its program (-DPROGRAM). */
#ifdef PROGRAM
#include <stdio.h>
int f(int);
int former(int);
__asm__(".symver former,f@V1");
int main(void)
{
	printf("%d %d\n", f(5), former(7));
	return 0;
}
#else
__attribute__((noinline)) int old_f(int a)
{
	return a + 1;
}
__attribute__((noinline)) int new_f(int a)
{
	volatile int b = a * 2;
	return b + 2;
}
__asm__(".symver old_f,f@V1");
__asm__(".symver new_f,f@@V2");
#endif
