/* Makes known numbers of system calls: in rounds of N, one for each line of the input. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void calls(long n)
{
	for (long i = 0; i < n; i++) {
		syscall(SYS_getppid);
		if (i % 2 == 0)
			syscall(SYS_getpgid, i << 33 | 5);
		syscall(SYS_pwrite64, -1, i, i * 3, i * 7);
		if (i % 10 == 0) {
#ifdef __x86_64__
			/* 32-bit programs' getpid; 64-bit programs' number 20 is writev. */
			long r;
			__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
			syscall(0x40000000 | SYS_getpgrp); /* x32 programs' */
#endif
			syscall(999, 1, 2, 3);
		}
	}
}

int main(void)
{
	long n;
	int rounds = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready %d\n", rounds);
	while (scanf("%ld", &n) == 1) {
		calls(n);
		printf("ready %d\n", ++rounds);
	}
	return 0;
}
