/* A chain of calls that is linked in an unusual way (test/unaligned_test.go). Its last function makes a system call of its own for places of the
 * kernel, 300 times: in 3 seconds, or, with an argument, as fast as it can. */
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

__attribute__((noinline)) long outer(long x)
{
	x = middle(x + 1);
	__asm__ volatile("" : "+r"(x));
	return x;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 300; i++) {
		outer(1);
		if (argc == 1)
			usleep(10000);
	}
	return 0;
}
