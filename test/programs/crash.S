# Functions that fault at their second, third or only instruction that a jump over
# several replaces, and at one that is replaced alone.

	.text
	.macro FUNCTION name
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm
	.macro END name
	.cfi_endproc
	.size \name, . - \name
	.endm

	FUNCTION load1			# the first instruction, 3 bytes
	mov (%rdi), %rax
	inc %rax
	ret
	END load1

	FUNCTION load2			# the second
	xor %eax, %eax
	add (%rdi), %rax
	inc %rax
	ret
	END load2

	FUNCTION load3			# the third
	nop
	xor %eax, %eax
	add (%rdi), %rax
	inc %rax
	ret
	END load3


	FUNCTION divide			# SIGFPE
	xor %edx, %edx
	div %rsi
	xor %eax, %eax
	ret
	END divide

	FUNCTION illegal		# SIGILL
	xor %eax, %eax
	ud2
	nop
	ret
	END illegal

	FUNCTION breakpoint		# SIGTRAP, the pc behind it
	int3
	xor %eax, %eax
	inc %eax
	ret
	END breakpoint

	FUNCTION breakpoint2
	xor %eax, %eax
	int3
	nop
	nop
	ret
	END breakpoint2

	FUNCTION calls			# an indirect call with its operand in memory
	xor %eax, %eax
	call *(%rdi)
	ret
	END calls

	.section .note.GNU-stack, "", @progbits
