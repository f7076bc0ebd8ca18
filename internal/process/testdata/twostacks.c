// twostacks: a handler on the stack of its thread is interrupted by one on an alternate stack, which waits. The first has a number
// on its stack.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void second(int sig)
{
	(void)sig;
	printf("ready\n");
	fflush(stdout);
	char c;
	while (read(0, &c, 1) == 1)
		;
	_exit(0);
}

static void first(int sig)
{
	(void)sig;
	volatile uint64_t number = 0x6a616c6f6e313233;
	raise(SIGUSR2);
	number++;
}

int main(void)
{
	size_t size = 64 << 10;
	stack_t st = {.ss_size = size, .ss_sp = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
	sigaltstack(&st, 0);
	struct sigaction a = {.sa_handler = first};
	sigaction(SIGUSR1, &a, 0);
	a.sa_handler = second, a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &a, 0);
	raise(SIGUSR1);
	return 1;
}
