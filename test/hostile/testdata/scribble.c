// A hostile traced program: it finds the memory that it shares with jalon in its own
// map and writes random bytes into it while it is traced; or, with "count" as the
// second argument only into the pages that begin the memory (control page, counters).
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

// Its first instructions have room for a jump, so it is traced by code in the process.
__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("mov $0x12345678, %%edx" ::: "edx", "memory");
	return n + 1;
}

static struct { uint64_t lo, hi; } maps[4096];

// shared lists the mappings of the memfd.
static int shared(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	int found = 0;

	while (f && found < 4096 && fgets(line, sizeof line, f)) {
		unsigned long a, b;

		if (!strstr(line, "memfd:jalon") || sscanf(line, "%lx-%lx", &a, &b) != 2)
			continue;
		maps[found].lo = a;
		maps[found++].hi = b;
	}
	if (f)
		fclose(f);
	return found;
}

int main(int argc, char **argv)
{
	long rounds = atol(argv[1]);
	int only = argc > 2 && !strcmp(argv[2], "count"), n = 0, found;

	state = argc > 3 ? strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15 + 1 : 0x853c49e6748fea9b;
	puts("ready");
	fflush(stdout);
	while (!(found = shared()))
		n = work(n);
	for (long i = 0; i < rounds; i++) {
		int m = only ? 0 : rnd() % found;
		uint64_t size = maps[m].hi - maps[m].lo;

		if (only && size > 3 * 4096)
			size = 3 * 4096;
		for (int k = 0; k < 50; k++)
			n = work(n);
		*(volatile uint64_t *)(maps[m].lo + (rnd() % size & ~7ull)) = rnd() & 3 ? rnd() : rnd() & 0xffff;
	}
	puts("done");
	return 0;
}
