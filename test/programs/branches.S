# Functions that other code enters between their first instructions, in every way that machine
# code allows and debug information does not describe. The argument is in rdi; the result is
# 2n+1 from the first instruction and 2n+3 from the other entry.

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

# The function that is traced: TARGET name, label of its second instruction.
	.macro TARGET name, label
	FUNCTION \name
	mov %rdi, %rax
\label:	add %rdi, %rax
	inc %rax
	ret
	END \name
	.endm

# What comes in the back door has added 2 in rdi and has n in rax.
	.macro PREPARE
	mov %rdi, %rax
	lea 2(%rdi), %rdi
	.endm

	FUNCTION near_in		# an 8-bit branch from the function before
	PREPARE
	jmp .Lnear
	END near_in
	TARGET near, .Lnear

	TARGET after, .Lafter		# from the function behind
	FUNCTION after_in
	PREPARE
	test %rdi, %rdi
	jne .Lafter
	ret
	END after_in

	TARGET far, .Lfar		# a 32-bit branch from far away
	FUNCTION cond_in
	PREPARE
	cmp $0, %rdi
	jne .Lcond
	ret
	END cond_in

	FUNCTION label_in		# the address is computed
	PREPARE
	lea .Llabel(%rip), %rcx
	jmp *%rcx
	END label_in
	.skip 300, 0xcc

	TARGET cond, .Lcond
	TARGET label, .Llabel
	TARGET pointer, .Lpointer
	TARGET table, .Ltable
	TARGET written, .Lwritten

	.skip 300, 0xcc
	FUNCTION far_in
	PREPARE
	jmp .Lfar
	END far_in

	FUNCTION pointer_in		# a pointer in data
	PREPARE
	jmp *.Lpointers(%rip)
	END pointer_in

	FUNCTION table_in		# a table of offsets
	PREPARE
	lea .Loffsets(%rip), %rcx
	movslq (%rcx), %rdx
	add %rdx, %rcx
	jmp *%rcx
	END table_in

	FUNCTION written_in		# an address written as such, where there are such
	PREPARE
#ifdef __PIE__
	lea .Lwritten(%rip), %rcx
#else
	mov $.Lwritten, %ecx
#endif
	jmp *%rcx
	END written_in

	.data
	.p2align 3
.Lpointers:
	.quad .Lpointer
	.section .rodata
	.p2align 2
.Loffsets:
	.long .Ltable - .Loffsets

	.section .note.GNU-stack, "", @progbits
