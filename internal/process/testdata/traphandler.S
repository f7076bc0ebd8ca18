# The SIGTRAP handler of an orphaned process; see traphandler.go. The test
# assembles this and compares it with the bytes there.
# rdi: signal, rsi: siginfo, rdx: ucontext.
	.text
handler:
	cmpl	$0x80, 8(%rsi)		# si_code SI_KERNEL: an int3
	jne	chain
	movq	168(%rdx), %rax		# the saved pc
	decq	%rax
	leaq	data(%rip), %r8
	movq	16(%r8), %rcx		# high
	leaq	24(%r8), %r9
	xorl	%r10d, %r10d		# low
search:	cmpq	%rcx, %r10
	jae	chain
	leaq	(%r10,%rcx), %r11
	shrq	$1, %r11		# middle
	shlq	$4, %r11
	cmpq	%rax, (%r9,%r11)
	je	found
	jb	right
	shrq	$4, %r11
	movq	%r11, %rcx
	jmp	search
right:	shrq	$4, %r11
	leaq	1(%r11), %r10
	jmp	search
found:	movq	8(%r9,%r11), %rax
	movq	%rax, 168(%rdx)
	ret
chain:	leaq	data(%rip), %r8
	movq	(%r8), %rax		# the program's handler
	cmpq	$1, %rax
	jb	default			# SIG_DFL
	je	ignore			# SIG_IGN
	testl	$0x80000000, 8(%r8)	# SA_RESETHAND
	jne	reset
	jmp	*%rax
ignore:	cmpl	$0, 8(%rsi)
	jg	default			# an instruction's signal cannot be ignored
	ret
reset:	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rax
	call	todfl
	popq	%rax
	popq	%rdx
	popq	%rsi
	popq	%rdi
	jmp	*%rax
default:
	call	todfl
	movl	$39, %eax		# getpid
	syscall
	pushq	%rax
	movl	$186, %eax		# gettid
	syscall
	movq	%rax, %rsi
	popq	%rdi
	movl	$5, %edx
	movl	$234, %eax		# tgkill: blocked until we return
	syscall
	ret
todfl:	subq	$40, %rsp		# struct sigaction, all zero: SIG_DFL
	xorl	%eax, %eax
	movq	%rax, (%rsp)
	movq	%rax, 8(%rsp)
	movq	%rax, 16(%rsp)
	movq	%rax, 24(%rsp)
	movl	$5, %edi
	movq	%rsp, %rsi
	xorl	%edx, %edx
	movl	$8, %r10d
	movl	$13, %eax		# rt_sigaction
	syscall
	addq	$40, %rsp
	ret
restorer:				# as in libc: unwinders and debuggers know these two instructions by their bytes
	movq	$15, %rax		# rt_sigreturn
	syscall
	.balign 8
data:					# u64 handler, flags, count; {u64 site, trampoline}...
