// Changes its own code while it runs: alters N HOW. key writes over a whole instruction of key, map maps the file over its
// code again, protect only protects it again. Prints how many results were wrong.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

long key(long);
long hit(long);
__asm__(".text\n.p2align 12\n"
	".globl hit\n.type hit, @function\nhit:\tlea 1(%rdi,%rdi), %rax\n\tadd $2, %rax\n\tret\n.size hit, . - hit\n"
	".globl key\n.type key, @function\nkey:\tmov $7, %eax\n\tadd %rdi, %rax\n\tret\n.size key, . - key\n"
	".p2align 12\n");
extern char __executable_start;

int main(int argc, char **argv)
{
	long n = atol(argv[1]), wrong = 0, constant = 7;
	const char *how = argc > 2 ? argv[2] : "";
	char *page = (char *)((uintptr_t)key & ~4095ul);
	for (long i = 0; i < n; i++) {
		wrong += hit(i) != 2 * i + 3;
		wrong += key(i) != i + constant;
		if (i != n / 2)
			continue;
		if (!strcmp(how, "key")) {
			unsigned char mov[5] = {0xb8, constant = 9};
			mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
			memcpy((void *)key, mov, sizeof mov);
			mprotect(page, 4096, PROT_READ | PROT_EXEC);
		} else if (!strcmp(how, "map")) {
			int fd = open("/proc/self/exe", O_RDONLY);
			if (mmap(page, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, page - &__executable_start) != page)
				return 3;
			close(fd);
		} else if (!strcmp(how, "protect")) {
			mprotect(page, 4096, PROT_READ | PROT_EXEC);
		}
	}
	printf("wrong %ld\n", wrong);
	fflush(stdout);
	if (argc > 3)
		getchar();
	return 0;
}
