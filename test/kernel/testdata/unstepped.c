/*
 * Instructions that the kernel cannot step over in a copy: system calls with a ret, or an
 * operand relative to rip, behind them, and pushf. A rep stos traps at each element.
 */
#include <stdio.h>
#include <unistd.h>

long returns(void), loads(void), flags(void);
void fills(char *);
long cell = 77;
char room[200];

__asm__(".text\n.globl returns\n.type returns,@function\n"
	"returns: mov $39,%eax\nreturns_at: syscall\n ret\n nopl 0(%rax,%rax,1)\n.size returns,.-returns\n"
	".globl loads\n.type loads,@function\n"
	"loads: mov $39,%eax\nloads_at: syscall\n mov cell(%rip),%rax\n ret\n.size loads,.-loads\n"
	".globl flags\n.type flags,@function\n"
	"flags: sub $8,%rsp\nflags_at: pushf\n nop\n mov (%rsp),%rax\n popf\n nop\n nop\n add $8,%rsp\n ret\n.size flags,.-flags\n"
	".globl fills\n.type fills,@function\n"
	"fills: mov $100,%ecx\n mov $65,%eax\nfills_at: rep stosb\n1: dec %eax\n jnz 1b\n ret\n.size fills,.-fills\n");

int main(void)
{
	char c;

	while (read(0, &c, 1) == 1) {
		fills(room);
		if (returns() != getpid() || loads() != 77 || flags() & 0x100 || room[99] != 65 || room[100])
			return 1;
		if (write(1, "on\n", 3) != 3)
			return 2;
	}
	printf("ok\n");
	return 0;
}
