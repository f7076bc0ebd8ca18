/* Ten thousand functions with C++ names and no debug information: many::f0000() and so
 * on, and many::bad(), which no instruction begins. */
#include <stdio.h>
#include <unistd.h>

#define NAME(n) "_ZN4many5f" #n "Ev"
#define ONE(n) \
	__asm__(".globl " NAME(n) "\n.type " NAME(n) ", @function\n" \
		NAME(n) ": push %rbx; mov %rdi, %rax; pop %rbx; ret\n" \
		".size " NAME(n) ", .-" NAME(n) "\n");
#define TEN(p) ONE(p##0) ONE(p##1) ONE(p##2) ONE(p##3) ONE(p##4) ONE(p##5) ONE(p##6) ONE(p##7) ONE(p##8) ONE(p##9)
#define HUNDRED(p) TEN(p##0) TEN(p##1) TEN(p##2) TEN(p##3) TEN(p##4) TEN(p##5) TEN(p##6) TEN(p##7) TEN(p##8) TEN(p##9)
#define THOUSAND(p) \
	HUNDRED(p##0) HUNDRED(p##1) HUNDRED(p##2) HUNDRED(p##3) HUNDRED(p##4) \
	HUNDRED(p##5) HUNDRED(p##6) HUNDRED(p##7) HUNDRED(p##8) HUNDRED(p##9)

__asm__(".text");
THOUSAND(0) THOUSAND(1) THOUSAND(2) THOUSAND(3) THOUSAND(4)
THOUSAND(5) THOUSAND(6) THOUSAND(7) THOUSAND(8) THOUSAND(9)
__asm__(".globl _ZN4many3badEv\n.type _ZN4many3badEv, @function\n"
	"_ZN4many3badEv: .byte 0x06, 0x06, 0x06\n"
	".size _ZN4many3badEv, .-_ZN4many3badEv\n");

extern void f0(void) __asm__("_ZN4many5f0000Ev");
extern void f9999(void) __asm__("_ZN4many5f9999Ev");

int main(int argc, char **argv)
{
	(void)argv;
	puts("ready");
	fflush(stdout);
	do {
		f0();
		f9999();
		usleep(1000);
	} while (argc > 1);
	return 0;
}
