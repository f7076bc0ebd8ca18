/* limit.S - the limit: trampolines for test_function written by hand.
 *
 * They may use what the code of test_function shows: at its first instruction eax
 * and the flags are dead, and every other register is live (with gcc a caller may
 * rely on registers that the called function does not change).
 * The record protocol is that of jalon's ring: time stamp, CPU, reserve by
 * compare and swap, write, publish with the first word.
 */
#include "work.h"

	.text
	.globl limit_tramp_false, limit_tramp_nocount, limit_tramp_record, limit_tramp_both
	.globl limit_cpu_1, limit_cpu_2, limit_cpu_3

/* The CPU number that the kernel keeps in the thread's rseq area; work.c writes
 * __rseq_offset into the four bytes before the label. */
	.macro	cpu n, reg
	mov	%fs:0x7fffffff, \reg
limit_cpu_\n:
	and	$NCPU-1, \reg
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
	cpu	1, %eax
	shl	$6, %eax
	lea	-128-8(%rsp), %rsp
	mov	%rcx, (%rsp)
	lea	limit_false(%rip), %rcx
	lock incq (%rcx,%rax)
	mov	(%rsp), %rcx
	lea	128+8(%rsp), %rsp
1:	mov	counter(%rip), %eax
	jmp	test_function+6

	.macro	record n
	lea	-128-40(%rsp), %rsp
	mov	%rdx, (%rsp)
	mov	%rcx, 8(%rsp)
	mov	%r8, 16(%rsp)
	mov	%r9, 24(%rsp)
	rdtsc
	shl	$32, %rdx
	or	%rax, %rdx
	cpu	\n, %ecx
	shl	$RING_SHIFT, %rcx
	add	limit_rings(%rip), %rcx
3:	mov	(%rcx), %rax
	lea	REC_SIZE(%rax), %r8
	mov	%r8, %r9
	sub	64(%rcx), %r9
	cmp	$RING_SIZE, %r9
	ja	4f
	lock cmpxchg %r8, (%rcx)
	jne	3b
	and	$RING_SIZE-1, %eax
	lea	RING_HDR(%rcx,%rax), %rax
	mov	%rdx, 8(%rax)
	rdfsbase %rdx
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
