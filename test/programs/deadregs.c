/* A register that is overwritten before it is read again, and that a later place shows. */
#include <unistd.h>

long shown(long x);

__asm__(
	".text\n.globl shown\n.type shown,@function\n"
	"shown:\n"
	"	push %r15\n"                /* 2 bytes */
	"	lea 0x1234(%rdi),%r15\n"    /* 7: shown+2 */
	"	lea 0x1(%r15),%rax\n"       /* 4: shown+9 */
	"	add $0x11111111,%rax\n"     /* 6: shown+13, r15 is dead */
	"	pop %r15\n"                 /* 2: shown+19 */
	"	ret\n"                      /* shown+21 */
	".size shown,.-shown\n");

int main(int argc, char **argv)
{
	long n = 0;

	for (long i = 0; i < (argc > 1 ? 50000 : 5); i++) {
		n += shown(i % 5);
		if (argc > 1)
			usleep(1000);
	}
	return n == 1;
}
