/* again maps its own code a second time, and reads its file by a mapping. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

extern char __executable_start;
int counter = 7;
char zeroed[1 << 16];
static void *code, *view;

int add(int x) { return x + counter; }

int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	uintptr_t page = (uintptr_t)add & ~(uintptr_t)4095;

	code = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, page - (uintptr_t)&__executable_start);
	view = mmap(0, 1 << 14, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("%p %p %p %p %p\n", (void *)add, (char *)code + ((uintptr_t)add - page), (void *)&counter, (void *)(zeroed + 40000), (char *)view + 16);
	fflush(stdout);
	return getchar() == EOF;
}
