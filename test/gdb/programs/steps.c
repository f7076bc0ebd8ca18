// Code to be stepped instruction by instruction: short loops, instructions that loop on
// themselves, string instructions, calls, returns, system calls, the flags on the stack.
#include <stdio.h>
#include <sys/syscall.h>

extern long steps(long n);
extern char steps_end[];
char from_here[64] = "twenty bytes and more", to_here[64];

__asm__(".text\n"
	".globl steps, steps_end\n"
	".type steps, @function\n"
	"steps:\n"
	"	push %rbx\n"
	"	mov %rdi, %rbx\n"
	"	xor %eax, %eax\n"
	// A loop back to the first of several short instructions.
	"1:	inc %rax\n"
	"	dec %rbx\n"
	"	jnz 1b\n"
	// An instruction that is its own target.
	"	mov $4, %ecx\n"
	"2:	loop 2b\n"
	"	mov $3, %ecx\n"
	"3:	nop\n"
	"	loop 3b\n"
	"	jrcxz 4f\n"
	"	ud2\n"
	"4:	mov $2, %edx\n"
	"5:	dec %edx\n"
	"	jns 5b\n"
	// String instructions: a step is one iteration.
	"	lea from_here(%rip), %rsi\n"
	"	lea to_here(%rip), %rdi\n"
	"	mov $5, %ecx\n"
	"	rep movsb\n"
	"	xor %ecx, %ecx\n"
	"	rep movsb\n"
	"	mov $3, %ecx\n"
	"	repe cmpsb\n"
	// Calls, direct and through a register, of functions that begin with a return.
	"	call small\n"
	"	lea small(%rip), %rdx\n"
	"	call *%rdx\n"
	"	call 6f\n"
	"6:	pop %rdx\n"
	// A return to itself: the address of the return is on the stack.
	"	lea 7f(%rip), %rdx\n"
	"	lea 8f(%rip), %rcx\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rdx\n"
	"7:	ret\n"
	"8:	mov $" "39" ", %eax\n"
	"	syscall\n"
	"	mov $102, %eax\n"
	"	syscall\n"
	"	pushfq\n"
	"	pop %rdx\n"
	"	push %rdx\n"
	"	popfq\n"
	"	xchg %rax, %rax\n"
	"	jmp 10f\n"
	"	nop\n"
	"9:	xor %eax, %eax\n"
	"	jmp 11f\n"
	"10:	jmp 9b\n"
	"11:	mov $2, %ebx\n"
	// A loop of one block that is longer than a jump, and one around a call.
	"12:	add $1, %rax\n"
	"	add $2, %rax\n"
	"	call small\n"
	"	sub $1, %ebx\n"
	"	jne 12b\n"
	"	pop %rbx\n"
	"	ret\n"
	".size steps, .-steps\n"
	".type small, @function\n"
	"small:	ret\n"
	"	nop; nop; nop; nop; nop; nop\n"
	".size small, .-small\n"
	"steps_end:\n");

__attribute__((noipa)) void begun(void) { __asm__ volatile(""); }
__attribute__((noipa)) void finished(void) { __asm__ volatile(""); }

int main(void)
{
	begun();
	long n = steps(3);
	finished();
	printf("%ld %s\n", n, to_here);
	return 0;
}
