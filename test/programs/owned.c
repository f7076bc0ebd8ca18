// What places show without a collect list, and system calls with names.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) int sized(const char *text, int n)
{
	asm volatile("" : "+r"(text), "+r"(n));
	return n + text[0];
}

int main(void)
{
	int sum = 0;
	for (int i = 0; i < 2; i++)
		sum += sized("hello", i);
	int none = open("/nonexistent/file", O_WRONLY | O_APPEND | O_CLOEXEC);
	int fd = open("/dev/null", O_RDONLY);
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("%d %d %d %d\n", sum, none, fd > 0, p != MAP_FAILED);
	return 0;
}
