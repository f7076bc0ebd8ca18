/* limit.S - the limit: trampolines for test_function written by hand.
 *
 * They may use what the code of test_function shows: at its first instruction eax
 * and the flags are dead, and every other register is live (with gcc a caller may
 * rely on registers that the called function does not change).
 * The record protocol is that of jalon's ring: in a restartable sequence (rseq(2))
 * time stamp, CPU, reserve by a store; then write, and publish with the first word. The
 * reader has written to the lines of the ring before, so a line that later records will need
 * is fetched from the reader's cache in advance.
 */
#include "work.h"

	.text
	.balign 16	/* compilers leave padding behind a function, which a jump at its return takes */
	.globl limit_tramp_false, limit_tramp_nocount, limit_tramp_record, limit_tramp_untimed, limit_tramp_both
	.globl limit_cpu_1, limit_cpu_2, limit_cpu_3, limit_cpu_4, limit_cs_1, limit_cs_2, limit_cs_3, limit_cs_4

/* The CPU number that the kernel keeps in the thread's rseq area; work.c writes
 * __rseq_offset into the four bytes before the label. */
	.macro	cpu n, reg
	mov	%fs:0x7fffffff, \reg
limit_cpu_\n:
	and	$NCPU-1, \reg
	.endm

/* Enters a restartable sequence from \start to before \end; the kernel sends an interrupted
 * thread back to here. work.c writes __rseq_offset + 8 into the four bytes before the label. */
	.macro	sequence n, reg, start, end
	.pushsection .data
	.balign	32
9:	.long	0, 0
	.quad	\start, \end - \start, 7f
	.popsection
8:	lea	9b(%rip), \reg
	mov	\reg, %fs:0x7fffffff
limit_cs_\n:
	.pushsection .text.unlikely, "ax"
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
7:	jmp	8b
	.popsection
	.endm

/* only the condition: no tracer can cost less */
limit_tramp_nocount:
	lea	(%rsi,%rsi,2), %eax
	lea	(%rax,%rdi,2), %eax
	test	%eax, %eax
	js	1f
1:	mov	counter(%rip), %eax
	jmp	test_function+6

/* 2*counter1+3*counter2 < 0, counting false hits */
limit_tramp_false:
	lea	(%rsi,%rsi,2), %eax
	lea	(%rax,%rdi,2), %eax
	test	%eax, %eax
	js	1f
	lea	-128-8(%rsp), %rsp
	mov	%rcx, (%rsp)
	lea	limit_false(%rip), %rcx
	sequence 1, %rax, 2f, 3f
2:	cpu	1, %eax
	shl	$6, %eax
	incq	(%rcx,%rax)
3:	mov	(%rsp), %rcx
	lea	128+8(%rsp), %rsp
1:	mov	counter(%rip), %eax
	jmp	test_function+6

/* clock: 1 with a time stamp */
	.macro	record n, clock=1
	lea	-128-40(%rsp), %rsp
	mov	%rdx, (%rsp)
	mov	%rcx, 8(%rsp)
	mov	%r8, 16(%rsp)
	mov	%r9, 24(%rsp)
	sequence \n, %rax, 2f, 3f
2:
	.if	\clock
	rdtsc
	shl	$32, %rdx
	or	%rax, %rdx
	.endif
	cpu	\n, %ecx
	shl	$RING_SHIFT, %rcx
	add	limit_rings(%rip), %rcx
	mov	(%rcx), %rax
	lea	REC_SIZE(%rax), %r8
	mov	%r8, %r9
	sub	64(%rcx), %r9
	cmp	$RING_SIZE, %r9
	ja	4f
	mov	%r8, (%rcx)
3:	and	$RING_SIZE-1, %eax
	lea	RING_HDR(%rcx,%rax), %rax
	prefetchw AHEAD(%rax)
	.if	\clock
	mov	%rdx, 8(%rax)
	.endif
	mov	%fs:0, %rdx
	mov	%rdx, 16(%rax)
	mov	%edi, 24(%rax)
	mov	%esi, 28(%rax)
	movabs	$0x100000000+REC_SIZE, %rdx
	mov	%rdx, (%rax)
4:	mov	(%rsp), %rdx
	mov	8(%rsp), %rcx
	mov	16(%rsp), %r8
	mov	24(%rsp), %r9
	lea	128+40(%rsp), %rsp
	.endm

limit_tramp_record:
	record	2
	mov	counter(%rip), %eax
	jmp	test_function+6

limit_tramp_untimed:
	record	4, 0
	mov	counter(%rip), %eax
	jmp	test_function+6

/* 2*counter1+3*counter2 > 0, then the record */
limit_tramp_both:
	lea	(%rsi,%rsi,2), %eax
	lea	(%rax,%rdi,2), %eax
	test	%eax, %eax
	jle	1f
	record	3
1:	mov	counter(%rip), %eax
	jmp	test_function+6

	.section .note.GNU-stack,"",@progbits
