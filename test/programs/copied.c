/*
 * Runs a copy of its own machine code, as V8 does with its embedded builtins: functions
 * that refer to nothing but each other, copied to another address. Marked by the symbol
 * that V8's have.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

__asm__(
	".text\n"
	".p2align 6\n"
	".type v8_Default_embedded_blob_code_, @function\n"
	"v8_Default_embedded_blob_code_:\n"
	".type Builtins_Sum, @function\n"
	".globl Builtins_Sum\n"
	"Builtins_Sum:\n"
	"	mov %rdi, %rax\n"
	"	test $1, %al\n"
	"	jne 1f\n"
	"	call Builtins_Half\n"
	"1:	add %rsi, %rax\n"
	"	ret\n"
	".size Builtins_Sum, . - Builtins_Sum\n"
	".p2align 6\n"
	".type Builtins_Half, @function\n"
	".globl Builtins_Half\n"
	"Builtins_Half:\n"
	"	mov %rdi, %rax\n"
	".type label_in_blob, @function\n" // as V8 has some: not every name is of a builtin
	"label_in_blob:\n"
	"	sar $1, %rax\n"
	"	add $0x12345678, %rax\n"
	"	ret\n"
	".size Builtins_Half, . - Builtins_Half\n"
	".size v8_Default_embedded_blob_code_, . - v8_Default_embedded_blob_code_\n"
	".p2align 6\n"
	"end_of_blob:\n"
	".section .rodata\n"
	"v8_Default_embedded_blob_code_size_:\n"
	"	.long end_of_blob - v8_Default_embedded_blob_code_\n"
	".text\n");

extern long Builtins_Sum(long, long);
extern char end_of_blob[];

__attribute__((noinline)) static long step(long n, long (*sum)(long, long))
{
	return sum(n, 3) * 31 + Builtins_Sum(n, 4);
}

int main(void)
{
	size_t size = end_of_blob - (char *)Builtins_Sum;
	char *copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long r = 0;

	memcpy(copy, (char *)Builtins_Sum, size);
	mprotect(copy, 4096, PROT_READ | PROT_EXEC);
	for (long n = 0; n < 1000; n++)
		r = (r + step(n, (long (*)(long, long))copy)) % 1000003;
	printf("%ld\n", r);
	return 0;
}
