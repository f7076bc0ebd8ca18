// Puts known values into the vector, mask and x87 registers, 3 times. With NO_AVX and
// NO_X87 the upper halves and the x87 stay as the processor has them initially; with
// MXCSR, that is another.
#include <stdint.h>

static uint8_t pattern[16][64];
int round;

__attribute__((noinline)) static void fill(void)
{
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 64; k++)
			pattern[i][k] = i * 64 + k * 7 + round;
#if defined __AVX__ && !defined NO_AVX
#define LOAD(i) "vmovdqu " #i "*64(%0),%%ymm" #i "\n"
#else
#define LOAD(i) "movdqu " #i "*64(%0),%%xmm" #i "\n"
#endif
#ifdef MXCSR
	static const uint32_t csr = MXCSR;
	__asm__ volatile("ldmxcsr %0" : : "m"(csr));
#endif
	__asm__ volatile(
#ifdef __AVX__
		"vzeroall\n"
#endif
		LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
		LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(15)
#if defined __AVX512F__ && !defined NO_AVX
		"kmovw %k1,%%k1; vmovdqu64 (%0),%%zmm3; vmovdqu64 64(%0),%%zmm20\n"
#endif
		// Valid, special (infinity) and zero registers, and empty ones.
#ifndef NO_X87
		"fninit; fldpi; fldl2e; fchs; fld1; fldz; fdivrp; fldz\n"
#endif
		".globl here\nhere: nop; nop; nop; nop; nop; nop; nop; nop\n"
#ifndef NO_X87
		"fninit\n"
#endif
#ifdef __AVX__
		"vzeroall\n"
#endif
		: : "r"(pattern), "r"(0x1234 + round) : "memory");
}

__attribute__((noinline)) static void done(void) { __asm__ volatile(""); }

int main(void)
{
	for (round = 0; round < 3; round++)
		fill();
	done();
}
