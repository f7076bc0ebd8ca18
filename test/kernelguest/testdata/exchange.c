/* The two ends of a line between two machines: exchange ask N FD sends numbered messages and gets each back; exchange serve DEVICE sends back
   what comes until -1. The first begins at a byte of its standard input. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACE(name) __attribute__((noinline)) void name(long n) { __asm__ volatile("" : : "r"(n) : "memory"); }
PLACE(sent)
PLACE(answered)
PLACE(received)
PLACE(replied)

static int get(int fd, long *n)
{
	size_t have = 0;
	while (have < sizeof *n) {
		ssize_t got = read(fd, (char *)n + have, sizeof *n - have);
		if (got <= 0)
			return 0;
		have += got;
	}
	return 1;
}

static int put(int fd, long n) { return write(fd, &n, sizeof n) == sizeof n; }

static int ask(int fd, long max)
{
	char c;
	long n;
	if (read(0, &c, 1) != 1)
		return 2;
	for (long i = 0; i < max; i++) {
		sent(i);
		if (!put(fd, i) || !get(fd, &n) || n != i)
			return 3;
		answered(i);
	}
	return put(fd, -1) ? 0 : 4;
}

static int serve(int fd)
{
	long n;
	if (write(fd, "ready\n", 6) != 6)
		return 2;
	while (get(fd, &n)) {
		if (n == -1)
			return 0;
		received(n);
		replied(n);
		if (!put(fd, n))
			return 3;
	}
	return 4;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "ask"))
		return ask(atoi(argv[3]), atol(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "serve")) {
		int fd = open(argv[2], O_RDWR | O_NOCTTY);
		return fd < 0 ? 1 : serve(fd);
	}
	return 1;
}
