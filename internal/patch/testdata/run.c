// Executes pieces of machine code with all registers, flags and memory given,
// and compares what two executions leave behind. The cases come as a file; the
// failures go to standard output, one a line, by case number. See exec_test.go.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

typedef uint64_t u64;
typedef uint32_t u32;

enum { RSP = 4, AREA = 0x10000, WINDOW = 0x2000 };
#define DATA 0x10000000UL
#define STACK 0x20000000UL
#define CODE 0x30000000UL
#define FLAGS 0x8d5UL

struct state { u64 gpr[16], flags; };

// Used by the assembly below.
struct state in, out;
u64 target, host_rsp, exit_ptr_value;
unsigned char fx_in[512] __attribute__((aligned(64)));
unsigned char fx_out[512] __attribute__((aligned(64)));
unsigned char xs_init[8192] __attribute__((aligned(64)));

void enter(void);
void leave_here(void);
__asm__(
"enter:\n"
"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $8, %rsp\n"
"	mov %rsp, host_rsp(%rip)\n"
"	mov $-1, %eax; mov $-1, %edx; xrstor64 xs_init(%rip); fxrstor64 fx_in(%rip)\n"
"	push 128+in(%rip); popfq\n"
"	mov 0+in(%rip), %rax; mov 8+in(%rip), %rcx; mov 16+in(%rip), %rdx; mov 24+in(%rip), %rbx\n"
"	mov 32+in(%rip), %rsp; mov 40+in(%rip), %rbp; mov 48+in(%rip), %rsi; mov 56+in(%rip), %rdi\n"
"	mov 64+in(%rip), %r8; mov 72+in(%rip), %r9; mov 80+in(%rip), %r10; mov 88+in(%rip), %r11\n"
"	mov 96+in(%rip), %r12; mov 104+in(%rip), %r13; mov 112+in(%rip), %r14; mov 120+in(%rip), %r15\n"
"	jmp *target(%rip)\n"
"leave_here:\n"
"	mov %rax, 0+out(%rip); mov %rcx, 8+out(%rip); mov %rdx, 16+out(%rip); mov %rbx, 24+out(%rip)\n"
"	mov %rsp, 32+out(%rip); mov %rbp, 40+out(%rip); mov %rsi, 48+out(%rip); mov %rdi, 56+out(%rip)\n"
"	mov %r8, 64+out(%rip); mov %r9, 72+out(%rip); mov %r10, 80+out(%rip); mov %r11, 88+out(%rip)\n"
"	mov %r12, 96+out(%rip); mov %r13, 104+out(%rip); mov %r14, 112+out(%rip); mov %r15, 120+out(%rip)\n"
"	mov host_rsp(%rip), %rsp\n"
"	pushfq; pop 128+out(%rip); cld\n"
"	fxsave64 fx_out(%rip); fninit\n"
"	add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
"	ret\n");

static sigjmp_buf back;
static volatile long running, seen;
static void fault(int sig) { siglongjmp(back, sig); }
// tick ends an execution that is still the same after two ticks of its own time: a loop.
static void tick(int sig) {
	if (running && running == seen) siglongjmp(back, sig);
	seen = running;
}

struct result { struct state s; int sig; unsigned char fx[512]; unsigned char mem[2][WINDOW]; };

// run executes from entry. Memory is filled with a pattern before.
static void run(struct result *r, const struct state *s, u64 entry, u64 fill) {
	for (u64 a = 0; a < WINDOW; a += 8) {
		*(volatile u64 *)(DATA + AREA/2 - WINDOW/2 + a) = fill;
		*(volatile u64 *)(STACK + AREA/2 - WINDOW/2 + a) = fill;
	}
	*(volatile u32 *)DATA = 0;
	in = *s;
	target = entry;
	r->sig = sigsetjmp(back, 1);
	static long runs;
	if (r->sig == 0) { running = ++runs; enter(); }
	running = 0;
	__asm__ volatile("cld; fninit");
	r->s = out;
	memcpy(r->fx, fx_out, 512);
	memcpy(r->mem[0], (void *)(DATA + AREA/2 - WINDOW/2), WINDOW);
	memcpy(r->mem[1], (void *)(STACK + AREA/2 - WINDOW/2), WINDOW);
	r->s.flags |= (u64)*(volatile u32 *)DATA << 32; // the landing that was reached
}

static void map(u64 addr, u64 size) {
	if (mmap((void *)addr, size, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED_NOREPLACE, -1, 0) != (void *)addr) { perror("mmap"); exit(2); }
}

static unsigned char *p;
static u64 get(void) { u64 v; memcpy(&v, p, 8); p += 8; return v; }
// extra is where a case wants code outside the fixed areas.
static u64 extra, extra_size;
static int unmappable;
static void ensure(u64 addr, u64 len) {
	if (addr - CODE < 0x2000 || addr - 0x40000000UL < 0x2000 || addr - 0x700000000UL < 0x2000) return;
	extra = addr & ~0xfffUL;
	extra_size = ((addr + len + 0xfff) & ~0xfffUL) - extra;
	if (mmap((void *)extra, extra_size, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED_NOREPLACE, -1, 0) != (void *)extra) { unmappable = 1; extra = 0; }
}
static void writes(void) {
	memset((void *)(CODE + 0xe00), 0, 0x400); // what earlier cases left there
	for (u64 n = get(); n > 0; n--) {
		u64 addr = get(), len = get();
		ensure(addr, len);
		if (!unmappable) memcpy((void *)addr, p, len);
		p += len;
	}
}

static long failures, ran, faulted;
static int fail(long n, const char *what, int reg, u64 a, u64 b) {
	if (failures++ < 200) printf("%ld %s %d %#lx %#lx\n", n, what, reg, a, b);
	return 0;
}

// same compares two results except for the registers and flags in skip.
static int same(long n, const char *what, int reg, const struct result *a, const struct result *b, u32 skip, u64 flagmask) {
	for (int i = 0; i < 16; i++)
		if (!(skip >> i & 1) && a->s.gpr[i] != b->s.gpr[i]) return fail(n, what, i, a->s.gpr[i], b->s.gpr[i]);
	if ((a->s.flags ^ b->s.flags) & (flagmask | 0xffffffff00000400UL)) return fail(n, what, 16, a->s.flags, b->s.flags);
	if (memcmp(a->mem, b->mem, sizeof a->mem)) return fail(n, what, 17, 0, 0);
	// Bytes 6-23 are the x87 opcode and addresses of the last instruction.
	if (memcmp(a->fx, b->fx, 6) || memcmp(a->fx + 24, b->fx + 24, 416 - 24)) return fail(n, what, 18, 0, 0);
	return 1;
}

// masks checks the claims "not read" and "written" by changing what is claimed
// not to matter.
static void masks(long n, struct state *s, u64 entry, u64 fill, u32 reads, u32 wr, int fread, int fwritten) {
	static struct result a, b;
	run(&a, s, entry, fill);
	if (a.sig) { faulted++; return; }
	ran++;
	for (int i = 0; i < 16; i++)
		if (!(wr >> i & 1) && a.s.gpr[i] != s->gpr[i]) { fail(n, "changed", i, s->gpr[i], a.s.gpr[i]); return; }
	for (int i = 0; i < 16; i++) {
		if (i == RSP || reads >> i & 1) continue;
		struct state t = *s;
		t.gpr[i] = ~t.gpr[i] * 0x9e3779b97f4a7c15UL;
		run(&b, &t, entry, fill);
		if (b.sig) { fail(n, "fault", i, b.sig, 0); return; }
		if (!same(n, "read", i, &a, &b, 1u << i, FLAGS)) return;
		u64 want = wr >> i & 1 ? a.s.gpr[i] : t.gpr[i];
		if (b.s.gpr[i] != want) { fail(n, "written", i, want, b.s.gpr[i]); return; }
	}
	if (!fread) {
		struct state t = *s;
		t.flags ^= FLAGS;
		run(&b, &t, entry, fill);
		if (b.sig) { fail(n, "fault", 16, b.sig, 0); return; }
		same(n, fwritten ? "flags-written" : "flags-read", 16, &a, &b, 0, fwritten ? FLAGS : 0);
	}
}

int main(int argc, char **argv) {
	stack_t alt = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	sigaltstack(&alt, 0);
	struct sigaction sa = { .sa_handler = fault, .sa_flags = SA_ONSTACK | SA_NODEFER };
	int sigs[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	for (int i = 0; i < 5; i++) sigaction(sigs[i], &sa, 0);
	sa.sa_handler = tick;
	sigaction(SIGPROF, &sa, 0);
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	setitimer(ITIMER_PROF, &every, 0);
	map(DATA, 0x1000); map(DATA + AREA/2 - WINDOW/2, WINDOW); map(STACK + AREA/2 - WINDOW/2, WINDOW);
	map(CODE, 0x2000); map(0x40000000, 0x2000); map(0x700000000, 0x2000);
	*(u64 *)(DATA + 8) = (u64)leave_here;
	// Vector registers hold small numbers: good indices for gathers.
	__asm__ volatile("fxsave64 %0" : "=m"(fx_in));
	for (int i = 0; i < 256; i++) fx_in[160 + i] = i % 4 == 0 ? i : 0;

	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	struct stat st;
	if (fd < 0 || fstat(fd, &st)) { perror("cases"); return 2; }
	unsigned char *file = mmap(0, st.st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	p = file;
	static struct result a, b;
	for (long n = 0; p < file + st.st_size; n++) {
		u64 kind = get();
		struct state s;
		memcpy(&s, p, sizeof s); p += sizeof s;
		u64 fill = get(), entry = get();
		writes();
		if (kind == 1) {
			u64 m = get(), f = get();
			masks(n, &s, entry, fill, m & 0xffff, m >> 16 & 0xffff, f & 1, f >> 1 & 1);
			continue;
		}
		run(&a, &s, entry, fill);
		entry = get();
		u64 flagmask = get();
		writes();
		if (!unmappable) run(&b, &s, entry, fill);
		if (extra) munmap((void *)extra, extra_size);
		extra = 0;
		if (unmappable) { unmappable = 0; faulted++; continue; }
		if (a.sig != b.sig) fail(n, "signal", a.sig, b.sig, 0);
		else if (a.sig) faulted++;
		else { ran++; same(n, "differs", 0, &a, &b, 0, flagmask); }
	}
	printf("ran %ld faulted %ld failures %ld\n", ran, faulted, failures);
	return 0;
}
