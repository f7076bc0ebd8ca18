/* work.c - the workload of the paper: test_function(counter1, counter2) called in a loop.
 *
 *   work MODE N REPS [GAP_MS]
 *
 * Measures REPS batches of N calls, after 3 unreported ones, and prints "ns X.XXX"
 * (ns per call, loop included) for each. GAP_MS of idleness between batches lets
 * a reader empty its ring, so that a batch measures hits and not a full ring.
 *
 * MODE bare: the loop only; other tracers attach to it.
 * MODE pointer: the loop calls test_pointer(&counters) instead.
 * MODE nocount, false, record, untimed, both: the limit. The program patches itself with the
 * hand-written trampolines of limit.S, which do only what a tracer must do there.
 * A separate thread empties the ring.
 */
#define _GNU_SOURCE
#include "work.h"
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Shared with limit.S. A ring is RING_HDR bytes of positions, then its data twice. */
char *limit_rings;
uint64_t limit_false[64 * 8]; /* one cache line for each CPU */

extern char limit_tramp_nocount[], limit_tramp_false[], limit_tramp_record[], limit_tramp_untimed[], limit_tramp_both[];
extern char limit_cpu_1[], limit_cpu_2[], limit_cpu_3[], limit_cpu_4[]; /* each follows a disp32 */
extern char limit_cs_1[], limit_cs_2[], limit_cs_3[], limit_cs_4[];     /* likewise */
extern const ptrdiff_t __rseq_offset;                    /* glibc 2.35 */

static const struct {
	const char *mode;
	char *tramp;
} modes[] = {
	{ "nocount", limit_tramp_nocount },
	{ "false", limit_tramp_false },
	{ "record", limit_tramp_record },
	{ "untimed", limit_tramp_untimed },
	{ "both", limit_tramp_both },
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t c;

	CPU_ZERO(&c);
	CPU_SET(cpu, &c);
	sched_setaffinity(0, sizeof c, &c);
}

static volatile uint64_t consumed_records;

/* Waits until the reader has emptied the rings, so that the next batch finds room. */
static void wait_empty(void)
{
	for (int cpu = 0; cpu < NCPU; cpu++) {
		volatile uint64_t *ring = (uint64_t *)(limit_rings + ((uint64_t)cpu << RING_SHIFT));

		while (ring[0] != ring[8])
			usleep(1000);
	}
}

static void *reader(void *arg)
{
	(void)arg;
	pin(0);
	for (;;) {
		for (int cpu = 0; cpu < NCPU; cpu++) {
			char *ring = limit_rings + ((uint64_t)cpu << RING_SHIFT);
			uint64_t *done = (uint64_t *)(ring + 64);
			uint64_t pos = *done, end = *(volatile uint64_t *)ring;
			/* Only up to the end that was reserved at the start of the pass: reading further
			 * would cost the writer a cache miss for every record. */
			while (pos < end) {
				char *rec = ring + RING_HDR + (pos & (RING_SIZE - 1));
				uint32_t size = *(volatile uint64_t *)rec;
				if (!size)
					break;
				memset(rec, 0, size);
				pos += size;
				consumed_records++;
			}
			__atomic_store_n(done, pos, __ATOMIC_RELEASE);
		}
		usleep(2000);
	}
	return NULL;
}

static void make_rings(void)
{
	int fd = memfd_create("limit", 0);
	uint64_t file = RING_HDR + RING_SIZE;

	if (fd < 0 || ftruncate(fd, NCPU * file))
		die("memfd");
	limit_rings = mmap(NULL, (uint64_t)NCPU << RING_SHIFT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int i = 0; i < NCPU; i++) {
		char *at = limit_rings + ((uint64_t)i << RING_SHIFT);
		if (mmap(at, file, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, i * file) == MAP_FAILED ||
		    mmap(at + file, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, i * file + RING_HDR) == MAP_FAILED)
			die("mmap");
	}
}

/* The site is test_function's first instruction, mov counter(%rip),%eax (6 bytes). */
static void writable(void *p)
{
	if (mprotect((void *)((uintptr_t)p & ~4095UL), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("mprotect");
}

static void patch(const char *mode)
{
	char *tramp = NULL, *cpu[] = { limit_cpu_1, limit_cpu_2, limit_cpu_3, limit_cpu_4 };
	char *cs[] = { limit_cs_1, limit_cs_2, limit_cs_3, limit_cs_4 };
	unsigned char *site = (unsigned char *)test_function;
	int32_t rel;

	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(mode, modes[i].mode))
			tramp = modes[i].tramp;
	if (!tramp) {
		fprintf(stderr, "work: no mode %s\n", mode);
		exit(1);
	}
	for (int i = 0; i < 4; i++) {
		int32_t off = __rseq_offset, at = off + 8; /* cpu_id_start, rseq_cs */
		writable(cpu[i]);
		memcpy(cpu[i] - 4, &off, 4);
		writable(cs[i]);
		memcpy(cs[i] - 4, &at, 4);
	}
	if (site[0] != 0x8b || site[1] != 0x05) {
		fprintf(stderr, "work: test_function does not start with mov counter(%%rip),%%eax\n");
		exit(1);
	}
	writable(site);
	rel = tramp - (char *)(site + 5);
	site[0] = 0xe9;
	memcpy(site + 1, &rel, 4);
	site[5] = 0x90;
}

volatile int sink;

/* One batch of calls. */
static int batch(int pointer, long n)
{
	struct pair c = { 1, 1 };
	int s = 0;

	for (long i = 0; i < n; i++) {
		s += pointer ? test_pointer(&c) : test_function(c.counter1, c.counter2);
		c.counter1++;
		c.counter2++;
	}
	return s;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "bare";
	long n = argc > 2 ? atol(argv[2]) : 1000000;
	int reps = argc > 3 ? atoi(argv[3]) : 7;
	int gap = argc > 4 ? atoi(argv[4]) : 0;
	pthread_t t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pin(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	int pointer = !strcmp(mode, "pointer"), limit = strcmp(mode, "bare") && !pointer;
	if (limit) {
		make_rings();
		pthread_create(&t, NULL, reader, NULL);
		patch(mode);
	}
	for (int r = -3; r < reps; r++) {
		double t0 = now();
		int s = pointer ? batch(1, n) : batch(0, n);
		double t1 = now();
		sink = s;
		if (r >= 0)
			printf("ns %.3f\n", (t1 - t0) / n);
		if (gap)
			usleep(gap * 1000);
		if (limit)
			wait_empty();
	}
	if (limit)
		printf("consumed %lu\n", consumed_records);
	printf("result %d\n", sink);
	return 0;
}
