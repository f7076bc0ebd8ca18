# A restartable sequence (rseq(2)) that counts on the counter of its CPU, and its
# descriptor: with IN_SECTION in __rseq_cs, with IN_DATA elsewhere in the data, else
# made at run time by describe. With LABELS symbols divide the function. With FAR, INDIRECT and
# RETURNS the abort handler lies elsewhere, and leads back by a jump, by an address, or not at all.

#ifndef SIGNATURE
#define SIGNATURE 0x53053053
#endif

	.text
	.globl count			# count(struct rseq *, counters, struct rseq_cs *)
	.type count, @function
count:
	.cfi_startproc
	nopl 0(%rax,%rax,1)
	xor %ecx, %ecx
	xor %eax, %eax
	nop
.Lagain:
	mov %rdx, 8(%rdi)
.Lstart:
#ifdef LABELS
count_start:
#endif
	mov 4(%rdi), %eax
	shl $6, %eax
	mov (%rsi,%rax), %rcx
	.rept 8
	pause
	.endr
	inc %rcx
	mov %rcx, (%rsi,%rax)
.Lend:
	nop
	nop
	xor %eax, %eax
	ret
#if defined FAR || defined INDIRECT || defined RETURNS
	.cfi_endproc
	.size count, . - count
	.pushsection .text.unlikely, "ax"
	.cfi_startproc
#endif
	.byte 0x0f, 0xb9, 0x3d
	.long SIGNATURE
.Labort:
#ifdef LABELS
count_abort:
#endif
#if defined INDIRECT
	lea .Lagain(%rip), %rax
	jmp *%rax
#elif defined RETURNS
	mov $1, %eax
	ret
#else
	jmp .Lagain
#endif
	.cfi_endproc
#if defined FAR || defined INDIRECT || defined RETURNS
	.popsection
#else
	.size count, . - count
#endif

	.globl describe			# struct rseq_cs *describe(struct rseq_cs *)
	.type describe, @function
describe:
	.cfi_startproc
#if defined IN_SECTION || defined IN_DATA
	lea .Lcs(%rip), %rax
#else
	mov %rdi, %rax
	movq $0, (%rdi)
	lea .Lstart(%rip), %rcx
	mov %rcx, 8(%rdi)
	movq $.Lend - .Lstart, 16(%rdi)
	lea .Labort(%rip), %rcx
	mov %rcx, 24(%rdi)
#endif
	ret
	.cfi_endproc
	.size describe, . - describe

#if defined IN_SECTION || defined IN_DATA
#ifdef IN_SECTION
	.section __rseq_cs, "aw"
#else
	.data
#endif
	.balign 32
.Lcs:	.long 0, 0
	.quad .Lstart, .Lend - .Lstart, .Labort
#endif
	.section .note.GNU-stack, "", @progbits
