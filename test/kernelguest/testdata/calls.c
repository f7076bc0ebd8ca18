/* Does known system calls, as the first argument says. What it did it prints as
 * NAME=VALUE lines. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(e) ((e) < 0 ? (perror(#e), exit(3), 0) : 0)

static char buf[64 << 10];
static char *volatile nowhere = (char *)8;

static int data(void) {
	int fd = open("/tmp/known.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd);
	CHECK(write(fd, buf, 20000));
	return fd;
}

/* reads: 10 reads of 100 bytes, then of 4096, 4097, 5000 and 60000 bytes. */
static int reads(void) {
	static const size_t sizes[] = {4096, 4097, 5000, 60000};
	int fd = data();
	for (int i = 0; i < 10; i++)
		CHECK(pread(fd, buf, 100, i));
	for (int i = 0; i < 4; i++)
		CHECK(pread(fd, buf, sizes[i], 0));
	struct iovec v[2] = {{buf, 30}, {buf + 100, 12}};
	CHECK(lseek(fd, 0, SEEK_SET));
	CHECK(readv(fd, v, 2));
	return 0;
}

/* errors: reads that fail in known ways, and end of file. */
static int errors(void) {
	int fd = data();
	int w = open("/tmp/known.bin", O_WRONLY);
	CHECK(w);
	int dir = open("/tmp", O_RDONLY | O_DIRECTORY);
	CHECK(dir);
	for (int i = 0; i < 3; i++)
		if (read(w, buf, 10) != -1 || errno != EBADF)
			return 4;
	if (read(dir, buf, 10) != -1 || errno != EISDIR)
		return 5;
	if (pread(fd, nowhere, 10, 0) != -1 || errno != EFAULT)
		return 6;
	if (pread(fd, buf, 10, 20000) != 0)
		return 7;
	if (pread(fd, buf, 1000, 19900) != 100)
		return 8;
	return 0;
}

/* hot N: N getpgid calls, each seventh about process 1, the others about itself. */
static int hot(long n) {
	for (long i = 0; i < n; i++)
		syscall(SYS_getpgid, i % 7 == 0);
	return 0;
}

static volatile unsigned long turns;
__attribute__((noinline)) int work(int n) {
	turns += n;
	return n * 2;
}

/* works N: calls work(i) for i in 0..N-1 for each byte of its standard input, and
 * says so by a byte on its standard output. */
static int works(int n) {
	while (read(0, buf, 1) > 0) {
		for (int i = 0; i < n; i++)
			work(i);
		CHECK(write(1, "+", 1));
	}
	return 0;
}

/* run PATH: executes it in a child, N times. */
static int run(const char *path, int n) {
	for (int i = 0; i < n; i++) {
		pid_t child = fork();
		CHECK(child);
		if (child == 0) {
			execl(path, path, "none", NULL);
			_exit(9);
		}
		int status;
		CHECK(waitpid(child, &status, 0));
		if (status != 0)
			return 4;
	}
	return 0;
}

#ifdef MARKERS
/* Static markers with a semaphore, written as <sys/sdt.h> writes them. */
__extension__ unsigned short demo_marked_semaphore __attribute__((section(".probes"), used));
#define STAP_NOTE(provider, name, sem, args) \
	__asm__ __volatile__("990: nop\n" \
		".pushsection .note.stapsdt,\"\",\"note\"\n" \
		".balign 4\n" \
		".4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n" \
		"992: .balign 4\n" \
		"993: .8byte 990b\n" \
		".8byte _.stapsdt.base\n" \
		".8byte " sem "\n" \
		".asciz \"" provider "\"\n" \
		".asciz \"" name "\"\n" \
		".asciz \"" args "\"\n" \
		"994: .balign 4\n" \
		".popsection\n"
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection\n");

__attribute__((noinline)) static void marked(int i, char *text) {
	STAP_NOTE("demo", "marked", "demo_marked_semaphore", "-4@%0 8@%1") :: "r"(i), "r"(text));
}

/* markers N: for each byte of its standard input, N hits of demo:marked if the semaphore
 * is set; writes a byte to its standard output that reports whether it was set. */
static int markers(int n) {
	while (read(0, buf, 1) > 0) {
		int listens = *(volatile unsigned short *)&demo_marked_semaphore;
		for (int i = 0; listens && i < n; i++)
			marked(i, i % 2 ? "odd" : "even");
		CHECK(write(1, listens ? "+" : "-", 1));
	}
	return 0;
}
#endif

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "none";
	long n = argc > 2 ? atol(argv[2]) : 0;
	memset(buf, 'x', sizeof buf);
	if (!strcmp(what, "reads"))
		return reads();
	if (!strcmp(what, "errors"))
		return errors();
	if (!strcmp(what, "hot"))
		return hot(n);
	if (!strcmp(what, "works"))
		return works(n);
	if (!strcmp(what, "run"))
		return run("/proc/self/exe", n);
#ifdef MARKERS
	if (!strcmp(what, "markers"))
		return markers(n);
#endif
	return 0;
}
