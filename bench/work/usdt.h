/* A probe of <sys/sdt.h>, written out so that the header need not be installed:
 * a nop, and a note with its address and the locations of its two ints. */
#define USDT(a, b) \
	__asm__ volatile("990: nop\n" \
		".pushsection .note.stapsdt,\"\",\"note\"\n" \
		".balign 4\n" \
		".4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n" \
		"992: .balign 4\n" \
		"993: .8byte 990b\n" \
		".8byte _.stapsdt.base\n" \
		".8byte 0\n" \
		".asciz \"jalonbench\"\n" \
		".asciz \"hit\"\n" \
		".asciz \"-4@%0 -4@%1\"\n" \
		"994: .balign 4\n" \
		".popsection\n" \
		: : "nor"(a), "nor"(b))
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base,1\n.popsection\n");
