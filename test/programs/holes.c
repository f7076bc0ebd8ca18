/* A large hole just below the memory that was mapped last, where the kernel would put other memory. The program maps it again, with
 * MAP_FIXED, when it reads a line: whatever is there then is gone. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (256ul << 20)

__attribute__((noipa)) long handle(long n, char *p)
{
	p[n * 4096] = (char)n;
	return n + p[n * 4096];
}

int main(void)
{
	long sum = 0;
	char line[8];
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	munmap(p, SIZE);
	printf("hole\n");
	fflush(stdout);
	if (read(0, line, sizeof line) < 0)
		return 2;
	if (mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != p)
		return 1;
	for (long k = 0; k < 100; k++)
		sum += handle(k, p);
	printf("sum %ld\n", sum);
	return 0;
}
