/* Maps its own file 100 times as code, with a page between each two, and waits. */
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

int main(int argc, char **argv)
{
	int fd = open(argv[0], O_RDONLY);
	for (int i = 0; i < 100; i++)
		if (mmap((void *)(0x100000000 + i * 0x2000L), 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			return 1;
	struct timespec t = { 1000000, 0 };
	clock_nanosleep(CLOCK_REALTIME, 0, &t, 0);
	return argc < 0;
}
