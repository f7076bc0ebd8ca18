// Puts known values into the vector, mask and x87 registers, 3 times.
#include <stdint.h>

static uint8_t pattern[16][64];
int round;

__attribute__((noinline)) static void fill(void)
{
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 64; k++)
			pattern[i][k] = i * 64 + k * 7 + round;
#ifdef __AVX__
#define LOAD(i) "vmovdqu " #i "*64(%0),%%ymm" #i "\n"
#else
#define LOAD(i) "movdqu " #i "*64(%0),%%xmm" #i "\n"
#endif
	__asm__ volatile(
		LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
		LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(15)
#ifdef __AVX512F__
		"kmovw %k1,%%k1; vmovdqu64 (%0),%%zmm3; vmovdqu64 64(%0),%%zmm20\n"
#endif
		// Valid, special (infinity) and zero registers, and empty ones.
		"fninit; fldpi; fldl2e; fchs; fld1; fldz; fdivrp; fldz\n"
		".globl here\nhere: nop; nop; nop; nop; nop; nop; nop; nop\n"
		"fninit\n"
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
