/* Operands that compilers seldom choose. Each probe has two arguments: %r14, which
   an instruction has just loaded from the operand, and the operand itself. */
#include <sys/sdt.h>

	.data
	.balign 8
numbers:
	.quad 0x1122334455667788, -2, 0x7fffffffffffffff, 0x80000000, 5, 6, 7, 8
	.globl exported
exported:
	.quad 0xfedcba9876543210, 3

	.section .tdata, "awT", @progbits
	.type tls_word, @object
	.size tls_word, 8
tls_word:
	.quad 0x0102030405060708

	.text
	.globl forms
	.type forms, @function

forms:
	push %rbx
	push %r14
	push %rbp
	sub $64, %rsp
	movq $0x1234, 8(%rsp)
	lea numbers(%rip), %rbx
	mov $3, %ecx
	mov $2, %edx
	mov %rsp, %rbp
	mov $0xa1b2c3d4e5f6, %rax
	mov $0x1122334455667788, %r9
.macro both name, insn, size, operand:vararg
	\insn \operand, %r14
	STAP_PROBE2(forms, \name, \size\()@%r14, \size\()@\operand)
.endm
	both plain, mov, 8, (%rbx)
	both plus, mov, 8, 8(%rbx)
	both hex, mov, 8, 0x10(%rbx)
	both octal, mov, 8, 020(%rbx)
	both sum, mov, 8, -4+8+4(%rbx)
	both product, mov, 8, 2*8(%rbx)
	both paren, mov, 8, (8+16)(%rbx)
	both scaled, mov, 8, (%rbx,%rcx,8)
	both scaled2, mov, 8, -8(%rbx,%rdx,8)
	both one, mov, 8, -3(%rbx,%rcx)
	both noscale, mov, 8, 0(%rbx,%rcx,1)
#ifdef ABSOLUTE
	both nobase, mov, 8, numbers(,%rcx,8)
	both based, mov, 8, numbers+8(%rdx,%rcx,2)
	both absolute, mov, 8, exported+8
	both address, mov, 8, $exported+8
#endif
	both stack, mov, 8, 8(%rsp)
	both frame, mov, 8, 8(%rbp)
	both rip, mov, 8, numbers(%rip)
	both ripplus, mov, 8, numbers+16(%rip)
	both ripglobal, mov, 8, exported+8(%rip)
	both got, mov, 8, exported@GOTPCREL(%rip)
	both tls, mov, 8, %fs:tls_word@tpoff
	both signed4, movslq, -4, 24(%rbx)
	both unsigned2, movzwq, 2, 6(%rbx)
	both signed1, movsbq, -1, 7(%rbx)
	both literal, mov, 8, $0x55
	both negative, mov, -8, $-77
	both mixed, mov, -8, $(3-5)*7
	both register, mov, 8, %rax
	both high, mov, 8, %r9
	mov %eax, %r14d
	STAP_PROBE2(forms, half, 4@%r14, 4@%eax)
	movzbl %ah, %esi
	STAP_PROBE2(forms, second, 1@%rsi, 1@%ah)
	movsbl %ah, %esi
	STAP_PROBE2(forms, second4, -4@%rsi, -4@%ah)
	movzwl %r9w, %esi
	STAP_PROBE2(forms, word, 2@%rsi, 2@%r9w)
	movzbl %bpl, %esi
	STAP_PROBE2(forms, low, 1@%rsi, 1@%bpl)
	lea numbers(%rip), %rsi
	mov (%rsi), %r14
	STAP_PROBE2(forms, bare, %r14, (%rsi))
	add $64, %rsp
	pop %rbp
	pop %r14
	pop %rbx
	xor %eax, %eax
	ret
	.size forms, .-forms
	.section .note.GNU-stack, "", @progbits
