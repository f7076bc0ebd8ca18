# Code in which not every byte that looks like an instruction is one. It ends with
# status 0 when it has counted right.
	.text
	.globl main
	.type main, @function
main:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	mov $1000, %ebx
1:	call leaf
	cmp $155, %eax
	jne bad
	mov %ebx, %edi
	and $3, %edi
	call table
	add $-10, %eax
	cmp %ebx, %ebx
	jne bad
	mov %ebx, %edi
	call locked
	mov $39, %eax		# getpid
syscall: syscall
	call middle
	cmp $7, %eax
	jne bad
	dec %ebx
	jnz 1b
	xor %eax, %eax
	pop %rbx
	ret
bad:	mov $1, %eax
	pop %rbx
	ret
	.cfi_endproc
	.size main, .-main

	.type leaf, @function	# variables below the stack pointer
leaf:	movq $77, -8(%rsp)
	movq $78, -16(%rsp)
leafnop: .byte 0x0f, 0x1f, 0x44, 0, 0
	movq -8(%rsp), %rax
	addq -16(%rsp), %rax
	ret
	.size leaf, .-leaf

	.type table, @function	# a table of jumps between the instructions
table:	lea 2f(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
2:	.long 3f-2b, 4f-2b, 5f-2b, 6f-2b
3:	mov $10, %eax
	ret
4:	mov $11, %eax
	ret
5:	mov $12, %eax
	ret
6:	mov $13, %eax
	ret
	.size table, .-table

	.type locked, @function	# a branch over a lock prefix
locked:	test $1, %dil
	jz 7f
lock:	lock
7:	incl counter(%rip)
	ret
	.size locked, .-locked

words:	.ascii "words in the text, without a type"	# no instruction

	.type numbers, @object
numbers: .quad 1, 2, 3
	.size numbers, .-numbers
	.size numbers, .-numbers

	.type middle, @function	# no visible code jumps into the second half
middle:	lea hidden(%rip), %rax
	push %rax
	ret
	.byte 0x48, 0xb8	# the beginning of a long instruction
hidden:	mov $7, %eax
	ret
	.size middle, .-middle

	.data
counter: .long 0
	.section .note.GNU-stack, "", @progbits
