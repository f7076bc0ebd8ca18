/* sites.S - SITES functions like test_function, each in a cache line of its own, and with LIMIT a hand-written
 * trampoline for each: 2*a+3*b < 0, false hits counted in a cell of the function and the CPU.
 */
#include "work.h"

	.altmacro
	.text

	.macro	function n
	.p2align 6
	.globl	site\n
	.type	site\n, @function
site\n:
#ifdef LIMIT
	jmp	tramp\n
	nop
#else
	mov	counter(%rip), %eax
#endif
	add	%esi, %edi
	add	$1, %eax
	add	%edi, %eax
	ret
	.size	site\n, . - site\n
	.pushsection .data.rel.local, "aw"
	.quad	site\n
	.popsection
	.endm

	/* a word of which work on the thread's struct rseq is to begin; sites.c adds __rseq_offset to it */
	.macro	offset
	.pushsection .data.rel.local.offsets, "aw"
	.quad	1f - 4
	.popsection
1:
	.endm

	.macro	trampoline n
	.pushsection .data.rel.ro, "aw"
	.balign	32
6:	.long	0, 0
	.quad	2f, 3f - 2f, 4f
	.popsection
	.pushsection .text.unlikely, "ax"
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
4:	jmp	5f
	.popsection
	.p2align 6
tramp\n:
	lea	(%rsi,%rsi,2), %eax
	lea	(%rax,%rdi,2), %eax
	test	%eax, %eax
	js	7f
	lea	-128-8(%rsp), %rsp
	mov	%rcx, (%rsp)
5:	lea	6b(%rip), %rax
	.byte	0x64, 0x48, 0x89, 0x04, 0x25	/* mov %rax, %fs:rseq_cs */
	.long	8
	offset
2:	.byte	0x64, 0x8b, 0x04, 0x25		/* mov %fs:cpu_id_start, %eax */
	.long	0
	offset
	and	$NCPU-1, %eax
	shl	$CELLS_SHIFT, %eax
	lea	cells+8*\n(%rip), %rcx
	incq	(%rcx,%rax)
3:	mov	(%rsp), %rcx
	lea	128+8(%rsp), %rsp
7:	mov	counter(%rip), %eax
	jmp	site\n+6
	.endm

	.pushsection .data.rel.local, "aw"
	.balign 8
	.globl	sites
sites:
	.popsection
	.pushsection .data.rel.local.offsets, "aw"
	.balign 8
	.globl	offsets
offsets:
	.popsection

	.set	i, 0
	.rept	SITES
	function %i
	.set	i, i+1
	.endr
#ifdef LIMIT
	.set	i, 0
	.rept	SITES
	trampoline %i
	.set	i, i+1
	.endr
#endif
	.globl	text_end
text_end:
	.pushsection .data.rel.local.offsets, "aw"
	.quad	0
	.popsection
	.section .note.GNU-stack,"",@progbits
