# Where injected system calls run; see stub.go. The test assembles this and
# compares it with the bytes there.
	.text
	syscall				# the injected call
	# Only an orphan comes here: back to where the thread was.
back:	movl	$14, %eax		# rt_sigprocmask(SIG_SETMASK, mask, 0, 8)
	movl	$2, %edi
	leaq	mask(%rip), %rsi
	xorl	%edx, %edx
	movl	$8, %r10d
	syscall
	leaq	-128(%rsp), %rsp	# below the red zone
	pushq	flags(%rip)
	popfq
	leaq	128(%rsp), %rsp
	movq	rax(%rip), %rax
	movq	rcx(%rip), %rcx
	movq	rdx(%rip), %rdx
	movq	rsi(%rip), %rsi
	movq	rdi(%rip), %rdi
	movq	r8(%rip), %r8
	movq	r9(%rip), %r9
	movq	r10(%rip), %r10
	movq	r11(%rip), %r11
	jmp	*rip(%rip)
	.balign	8
	# A list of calls; see list.go. After each the cursor is at the next one.
run:	movq	list(%rip), %r11
	movq	(%r11), %rcx		# the cursor
	movq	(%rcx), %rax		# the number
	testq	%rax, %rax
	js	back			# the end
	movq	8(%rcx), %rdi
	movq	16(%rcx), %rsi
	movq	24(%rcx), %rdx
	movq	32(%rcx), %r10
	movq	40(%rcx), %r8
	movq	48(%rcx), %r9
	syscall
	movq	list(%rip), %r11
	movq	(%r11), %rcx
	movq	%rax, 56(%rcx)		# the result
	addq	$64, %rcx
	movq	%rcx, (%r11)
	jmp	run
	.balign	8
rax:	.quad 0
rcx:	.quad 0
rdx:	.quad 0
rsi:	.quad 0
rdi:	.quad 0
r8:	.quad 0
r9:	.quad 0
r10:	.quad 0
r11:	.quad 0
flags:	.quad 0
rip:	.quad 0
mask:	.quad 0
list:	.quad 0
