// Registers with known values, and a loop that changes none of them.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static unsigned char pattern[32][64];
static const uint64_t masks[8] = {1, 0x23, 0x4567, 0x89abcdef, 0x1122334455667788, 6, 7, 0xffffffffffffffff};
static const uint32_t csr = 0x7f80; // round toward zero
static const uint16_t fcw = 0x27f;

unsigned char stored[32 * 64 + 8 * 8];

// dump stores the AVX-512 registers and stops. It needs no other register.
__asm__(".text\n.global dump\ndump:\n"
	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	"vmovdqu64 %zmm\\n, stored+64*\\n(%rip)\n.endr\n"
	".irp n,0,1,2,3,4,5,6,7\nkmovq %k\\n, stored+2048+8*\\n(%rip)\n.endr\n"
	"int3\n");

int main(void)
{
	for (int i = 0; i < 32; i++)
		for (int j = 0; j < 64; j++)
			pattern[i][j] = (unsigned char)(i * 64 + j * 7 + 1);
	__asm__ volatile(
#if defined WITH_X87
		"fninit\n\tfldcw %[fcw]\n\t"
		"fld1\n\tfldpi\n\tfldz\n\tfld1\n\tfldz\n\tfdivrp\n\t" // 1, pi, 0, 1/0
		"fincstp\n\tfdecstp\n\t"
#endif
#if defined WITH_SSE
		"ldmxcsr %[csr]\n\t"
		"movdqu 0*64(%[p]), %%xmm0\n\tmovdqu 5*64(%[p]), %%xmm5\n\tmovdqu 15*64(%[p]), %%xmm15\n\t"
#endif
#if defined WITH_AVX
		"vmovdqu 1*64(%[p]), %%ymm1\n\tvmovdqu 14*64(%[p]), %%ymm14\n\t"
#endif
#if defined WITH_AVX512
		"vmovdqu64 2*64(%[p]), %%zmm2\n\tvmovdqu64 16*64(%[p]), %%zmm16\n\tvmovdqu64 31*64(%[p]), %%zmm31\n\t"
		"kmovq 0(%[m]), %%k0\n\tkmovq 32(%[m]), %%k4\n\tkmovq 56(%[m]), %%k7\n\t"
#endif
		"mov $0x1111111122222222, %%rbx\n\tmov $-3, %%r12\n\tmov $0x123456789abcdef0, %%r15\n\tmov $77, %%r9\n\t"
		"int3\n\t"
		".global spin\nspin: jmp spin\n\t"
		:
		: [p] "r"(pattern), [m] "r"(masks), [csr] "m"(csr), [fcw] "m"(fcw)
		: "memory", "rbx", "r9", "r12", "r15");
	return 0;
}
