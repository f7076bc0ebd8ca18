# A function whose only return is one byte, is jumped to, and whose following bytes as a displacement lead into the file
# itself: no jump fits there.
	.text
	.globl f
	.type f, @function
f:
	.cfi_startproc
	mov	%edi, %eax
	test	%edi, %edi
	js	1f
0:	ret
1:	mov	$-1, %eax
	jmp	0b
	.cfi_endproc
	.size f, .-f

	.globl main
	.type main, @function
main:
	.cfi_startproc
	mov	$3, %edi
	call	f
	mov	$-3, %edi
	call	f
	xor	%eax, %eax
	ret
	.cfi_endproc
	.size main, .-main
	.section .note.GNU-stack,"",@progbits
