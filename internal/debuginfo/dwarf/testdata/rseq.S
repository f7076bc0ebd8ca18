# A restartable sequence as libraries declare it: struct rseq_cs in __rseq_cs.
	.text
	.globl	_start
	.type	_start, @function
_start:
	nop
.Lstart:
	mov	%rax, %rbx
	add	$1, %rbx
	mov	%rbx, (%rdi)
.Lend:
	ret
	.long	0x53053053
.Labort:
	jmp	.Lstart
	.size	_start, . - _start

	.section __rseq_cs, "aw"
	.balign	32
	.long	0, 0
	.quad	.Lstart, .Lend - .Lstart, .Labort
