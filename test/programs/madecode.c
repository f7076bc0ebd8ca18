/* A chain of calls through a function that is made at run time and has a frame pointer (test/stackends_test.go). */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) long inner(long x)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "0"(SYS_getpriority), "D"(77777), "S"(0) : "rcx", "r11", "memory");
	return r + x;
}

__attribute__((noinline)) long middle(long x)
{
	volatile char room[200];

	room[x] = 1;
	x += inner(x);
	return x + room[0];
}

int main(void)
{
	/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop %rbp; ret */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 };
	void *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(made, code, sizeof code);
	for (int i = 0; i < 300; i++) {
		((long (*)(long (*)(long), long))made)(middle, 1);
		usleep(10000);
	}
	return 0;
}
