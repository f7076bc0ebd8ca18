// Times code at a patched site. It prints where its code arena and shared memory
// are, then for each "NAME LEN COLD A B CALLS\n" and LEN + COLD bytes on stdin puts
// the bytes (a trampoline body that falls through at its end, and its cold part)
// at the arena and 1 MiB behind it, patches
// test_function to jump there, and prints the nanoseconds per call, the best of many
// times CALLS calls (whose records the ring must hold). LEN 0 times
// the function alone; the names hand-... use the trampolines below, written by hand, with locked instructions
// and with restartable sequences. The second half of the rings and counters is for locked instructions.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { RING_SIZE = 1 << 20, RING_STRIDE = 4 << 20, RINGS = 8, ALL_CALLS = 6000000 };

extern const ptrdiff_t __rseq_offset;
extern char hand_false[], hand_record[], hand_cpu1[], hand_cpu2[], hand_rseq1[], hand_rseq2[], hand_rseq3[], hand_rseq4[], hand_rseq_false[], hand_rseq_record[], site[], site_next[];
int test_function(int, int);
char *hand_rings __attribute__((visibility("hidden"), used));
uint64_t hand_counters[512 * RINGS] __attribute__((visibility("hidden"), used, aligned(4096)));

// The site: eax, edx, ecx and the flags are dead there or not, as the code assumes.
__asm__(
".text\n.p2align 5\n"
"test_function:\n"
"site: .byte 0x0f,0x1f,0x44,0x00,0x00\n"
"site_next: lea (%rdi,%rsi),%eax\n"
"ret\n"
".p2align 5\n"
// Dead: rax and the flags.
"hand_false:\n"
"lea (%rsi,%rsi,2),%eax; lea (%rax,%rdi,2),%eax; test %eax,%eax; js 1f\n"
"mov %fs:0x7fffffff,%eax\nhand_cpu1: and $3,%eax; shl $12,%rax\n"
"lea -136(%rsp),%rsp; mov %rcx,(%rsp); lea hand_counters(%rip),%rcx; lock incq (%rcx,%rax); mov (%rsp),%rcx; lea 136(%rsp),%rsp\n"
"1: jmp site_next\n"
".p2align 5\n"
"hand_record:\n"
"lea -168(%rsp),%rsp; mov %rdx,(%rsp); mov %rcx,8(%rsp); mov %r8,16(%rsp)\n"
"rdtsc; shl $32,%rdx; or %rax,%rdx\n"
"mov %fs:0x7fffffff,%ecx\nhand_cpu2: and $3,%ecx; shl $22,%rcx; add hand_rings(%rip),%rcx\n"
"mov (%rcx),%rax\n"
"3: mov %rax,%r8; sub 64(%rcx),%r8; cmp $0x100000-32,%r8; ja 4f; lea 32(%rax),%r8; lock cmpxchg %r8,(%rcx); jne 3b\n"
"and $0xfffff,%eax; lea 4096(%rcx,%rax),%rax; mov %rdx,8(%rax); rdfsbase %rdx; mov %rdx,16(%rax)\n"
"mov %edi,24(%rax); mov %esi,28(%rax); movabs $0x100000020,%rdx; mov %rdx,(%rax)\n"
"4: mov (%rsp),%rdx; mov 8(%rsp),%rcx; mov 16(%rsp),%r8; lea 168(%rsp),%rsp\n"
"jmp site_next\n"
// The same in restartable sequences. The numbers are replaced by the offsets of rseq_cs and of cpu_id_start.
".pushsection .data; .p2align 5\n1: .long 0,0; .quad 2f, 3f-2f, 4f\n.popsection; .byte 0x0f,0xb9,0x3d; .long 0x53053053\n4: jmp 6f\n"
".p2align 5\n"
"hand_rseq_false:\n"
"lea (%rsi,%rsi,2),%eax; lea (%rax,%rdi,2),%eax; test %eax,%eax; js 5f\n"
"lea -136(%rsp),%rsp; mov %rcx,(%rsp); lea hand_counters(%rip),%rcx; 6: lea 1b(%rip),%rax; mov %rax,%fs:0x7fffffff\nhand_rseq1:\n"
"2: mov %fs:0x7fffffff,%eax\nhand_rseq2: and $3,%eax; shl $12,%rax; incq (%rcx,%rax)\n3: mov (%rsp),%rcx; lea 136(%rsp),%rsp\n"
"5: jmp site_next\n"
".pushsection .data; .p2align 5\n1: .long 0,0; .quad 2f, 3f-2f, 4f\n.popsection; .byte 0x0f,0xb9,0x3d; .long 0x53053053\n4: jmp 6f\n"
".p2align 5\n"
"hand_rseq_record:\n"
"lea -168(%rsp),%rsp; mov %rdx,(%rsp); mov %rcx,8(%rsp); mov %r8,16(%rsp)\n"
"6: lea 1b(%rip),%rax; mov %rax,%fs:0x7fffffff\nhand_rseq3:\n2: rdtsc; shl $32,%rdx; or %rax,%rdx\n"
"mov %fs:0x7fffffff,%ecx\nhand_rseq4: and $3,%ecx; shl $22,%rcx; add hand_rings(%rip),%rcx\n"
"mov (%rcx),%rax; mov %rax,%r8; sub 64(%rcx),%r8; cmp $0x100000-32,%r8; ja 5f; lea 32(%rax),%r8; mov %r8,(%rcx)\n"
"3: and $0xfffff,%eax; lea 4096(%rcx,%rax),%rax; mov %rdx,8(%rax); mov %fs:0,%rdx; mov %rdx,16(%rax)\n"
"mov %edi,24(%rax); mov %esi,28(%rax); movabs $0x100000020,%rdx; mov %rdx,(%rax)\n"
"5: mov (%rsp),%rdx; mov 8(%rsp),%rcx; mov 16(%rsp),%r8; lea 168(%rsp),%rsp\n"
"jmp site_next\n");

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void jump(char *from, char *to)
{
	int32_t d = to - (from + 5);
	*from = (char)0xe9;
	memcpy(from + 1, &d, 4);
}

static void writable(char *p)
{
	if (mprotect((void *)((uintptr_t)p & ~4095ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		exit(2);
}

static void reset_rings(void)
{
	for (int i = 0; i < RINGS; i++) {
		char *r = hand_rings + (size_t)i * RING_STRIDE;
		memset(r + 4096, 0, *(uint64_t *)r << 9 >> 9); // with lock, the distance of a context is above it
		memset(r, 0, 56);
		for (int k = 0; k < 32; k++) // of rings that are overwritten: their sub-buffers, all complete
			((uint32_t *)(r + 2048))[2 * k] = 0, ((uint32_t *)(r + 2048))[2 * k + 1] = -RING_SIZE / 32 / 8;
	}
}

static double measure(int a, int b, int calls)
{
	double best = 1e9;
	volatile int sink;
	for (int k = 0; k < ALL_CALLS / calls; k++) {
		reset_rings();
		double t = now();
		for (int i = 0; i < calls; i++)
			sink = test_function(a, b);
		double d = (now() - t) / calls;
		if (d < best)
			best = d;
	}
	(void)sink;
	return best;
}

int main(void)
{
	char *arena = NULL, name[64];
	for (uintptr_t a = ((uintptr_t)site & ~0xffffful) + (64 << 20); arena == NULL; a += 1 << 20) {
		arena = mmap((void *)a, 64 << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (arena == MAP_FAILED)
			arena = NULL;
	}
	hand_rings = arena + (8 << 20);
	memset(hand_rings, 0, (size_t)RINGS * RING_STRIDE);
	int32_t off = (int32_t)__rseq_offset;
	char *cpus[] = {hand_cpu1, hand_cpu2};
	for (int i = 0; i < 2; i++)
		writable(cpus[i]), memcpy(cpus[i] - 4, &off, 4);
	char *rseq[] = {hand_rseq1, hand_rseq2, hand_rseq3, hand_rseq4};
	for (int i = 0; i < 4; i++) {
		int32_t at = i % 2 ? off : off + 8;
		writable(rseq[i]), memcpy(rseq[i] - 4, &at, 4);
	}
	uint64_t *table = (uint64_t *)(arena + (4 << 20)), self;
	__asm__("mov %%fs:0,%0" : "=r"(self));
	table[self >> 12 & 4095] = self;
	writable(site);
	printf("%lu %lu %lu %lu %d\n", (unsigned long)arena, (unsigned long)table, (unsigned long)hand_counters, (unsigned long)hand_rings, off);
	fflush(stdout);
	int len, cold, a, b, calls;
	while (scanf("%63s %d %d %d %d %d", name, &len, &cold, &a, &b, &calls) == 6) {
		getchar();
		if (fread(arena, 1, len, stdin) != (size_t)len ||
		    fread(arena + (1 << 20), 1, cold, stdin) != (size_t)cold)
			return 1;
		jump(arena + len, site_next);
		if (!strcmp(name, "hand-false"))
			jump(site, hand_false);
		else if (!strcmp(name, "hand-record"))
			jump(site, hand_record);
		else if (!strcmp(name, "hand-rseq-false"))
			jump(site, hand_rseq_false);
		else if (!strcmp(name, "hand-rseq-record"))
			jump(site, hand_rseq_record);
		else if (len)
			jump(site, arena);
		else
			memcpy(site, "\x0f\x1f\x44\0\0", 5);
		printf("%.3f %lu\n", measure(a, b, calls), *(uint64_t *)hand_rings + *(uint64_t *)(hand_rings + RING_STRIDE));
		fflush(stdout);
	}
	return 0;
}
