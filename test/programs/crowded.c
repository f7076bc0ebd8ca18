/*
 * Many functions of short instructions, to have a tracepoint at each instruction. In front of a branch's target only a
 * punned jump fits; its bytes are those of the instruction there, so it goes some 20 MB forwards: where the heap grows.
 */
#include <stdio.h>
#include <unistd.h>

#define F(n)                                                                                                              \
	__attribute__((noinline)) long f##n(long a, long b)                                                               \
	{                                                                                                                 \
		__asm__ volatile("add %1,%0; xor $" #n ",%0; inc %0; sub %1,%0; rol $3,%0; inc %0; dec %0; neg %0\n"      \
				 "test %1,%1; jz 1f; dec %0; 1: add %1,%0; inc %0"                                        \
				 : "+a"(b)                                                                                \
				 : "D"(a));                                                                               \
		return b;                                                                                                 \
	}
#define F10(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
F10(1) F10(2) F10(3) F10(4) F10(5) F10(6)

#define C(n) r += f##n(r, n);
#define C10(n) C(n##0) C(n##1) C(n##2) C(n##3) C(n##4) C(n##5) C(n##6) C(n##7) C(n##8) C(n##9)

int main(void)
{
	long r = 0, grown = 0;

	for (int i = 0; i < 500; i++) {
		C10(1) C10(2) C10(3) C10(4) C10(5) C10(6)
	}
	while (grown < 1000 && sbrk(1 << 20) != (void *)-1)
		grown++;
	printf("%ld, %ld MB\n", r, grown);
	return 0;
}
