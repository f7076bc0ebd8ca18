// sharedcode FILE OFFSET KIND: maps the segments of a library, those that are not written to MAP_SHARED, and calls its function at
// OFFSET until its input ends. KIND: read (the file was opened for reading), write (for writing too), writable (the code is, too).
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	int writable = !strcmp(argv[3], "writable");
	int fd = open(argv[1], strcmp(argv[3], "read") ? O_RDWR : O_RDONLY);
	Elf64_Ehdr e;
	Elf64_Phdr p[32];
	if (fd < 0 || pread(fd, &e, sizeof e, 0) != sizeof e || e.e_phnum > 32 || pread(fd, p, e.e_phnum * sizeof *p, e.e_phoff) < 0)
		return 3;
	char *base = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < e.e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		unsigned long from = p[i].p_vaddr & ~4095ul, more = p[i].p_vaddr - from;
		int exec = p[i].p_flags & PF_X ? PROT_EXEC | (writable ? PROT_WRITE : 0) : 0;
		int how = p[i].p_flags & PF_W ? MAP_PRIVATE : MAP_SHARED;
		if (mmap(base + from, p[i].p_filesz + more, PROT_READ | exec, how | MAP_FIXED, fd, p[i].p_offset - more) == MAP_FAILED)
			return 4;
	}
	long (*f)(long) = (long (*)(long))(base + strtoul(argv[2], 0, 0));
	printf("ready\n");
	fflush(stdout);
	struct pollfd in = {0, POLLIN, 0};
	for (long i = 0; poll(&in, 1, 1) == 0; i++)
		if (f(i) != 3 * i + 1)
			return 5;
	printf("right\n");
	return 0;
}
