// Executes generated code for the differential tests. It maps the shared
// memory (fd 3) at the addresses of the protocol below, and for each case of a
// batch: sets every register, jumps to the code, catches what it faults on by the
// case's table, and stores every register, the record and the counters.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

typedef uint64_t u64;

// Keep in step with diff_test.go.
enum {
	PAGE = 4096, PAGES = 11, CASES = 512, REC_MAX = 10240, RINGS = 4,
	RING_SIZE = 16384, SUB_SIZE = 512, SUBS = RING_SIZE / SUB_SIZE, SUB_TABLE = 2048, SUB_CLAIM = 48, OLD = 0xa5, RING_STRIDE = 65536, COUNTER_STRIDE = 4096, SITE_OFF = 96,
	OFF_IN = 0x10000, OFF_OUT = 0x200000, OFF_FAULTS = 0x1200000, OFF_CODE = 0x1500000,
	CODE_SIZE = 0x800000, OFF_SHARED = 0x1D00000, SHM_SIZE = 0x2602000, SH_WALK = 0x60000,
	SH_CONTROL = 0, SH_CLOCK = 8, SH_VARS = 64, VARS = 4, SH_COUNTERS = 0x1000, SH_REGISTERED = 0x8000, SH_RINGS = 0x10000,
	SH_MAPS = 0xe0000, MAPS_SIZE = 18944, OFF_MAPS = 0x1f0000,
	X87 = 160, RSEQ_OFFSET = 64, RSEQ_SIZE = 32, RSEQ_CS = 8, RSEQ_SIGNATURE = 0x53053053, RSEQ_UNREGISTER = 1,
};
#define COARSE_TIME 0x123456789abcull
#define TCB_ADDR 0x5a3c37650000ull // a thread pointer with a struct rseq, RSEQ_OFFSET behind it
#define CODE_ADDR 0x5a3c17650000ull
#define NEAR_ADDR 0x5a3c27650000ull
#define FAR_ADDR 0x3b917c240000ull
#define LOW_ADDR 0x71230000ull // with the argument "low" only: random programs must not find it, nor floats that they use as addresses

struct in {
	u64 code, nfault, faults, base;
	u64 regs[16], flags, fs, gs, mxcsr;
	u64 ringpos, consumed, control;
	uint16_t selectors[4];
	uint8_t ymm[16][32];
	u64 vars[VARS];
	uint8_t x87[X87];
	u64 initial; // parts of the state that are put back to what they are initially
	u64 nedge;   // entries behind the faults: stores to a stack that may have ended
	u64 race;    // when not 0: the instruction of the code, from 1, behind which others move the rings on
	u64 listed;  // the thread pointer TCB_ADDR is in the table of registered ones
	u64 abort;   // when not 0: the address of an instruction in a restartable sequence, where the thread gets a signal
	u64 ready;   // the rings have a context of this thread; not 1: of the epoch, else of now
	u64 dies;    // the thread does nothing any more from the instruction at abort on
	u64 gone;    // GONE: the thread has given its struct rseq back; CPU_ID: it has written cpu to its cpu_id
	u64 cpu;
	u64 overwrite; // the rings are overwritten
	u64 busy;      // sub-buffers that are not complete, as bits
	u64 near, near_from, near_thread, near_time; // units to the newest context of rings from near_from on; 0: it is of now, 1: not stored
	u64 claim;     // when not 0: where a sequence that was aborted has claimed a sub-buffer
};

enum { GONE = 1, CPU_ID = 2, DISTANCE = 9 };

struct out {
	u64 regs[16], flags, fs, gs, mxcsr;
	u64 sig, pc, addr, ring, reclen, badmem, nfaults;
	uint16_t selectors[4];
	u64 counters[4];
	uint8_t ymm[16][32];
	u64 vars[VARS];
	uint8_t before[X87], after[X87];
	u64 inuse, nedges, raced, aborted, died, pos, dropped, distance;
	uint8_t maps[MAPS_SIZE];
	u64 subs[SUBS]; // used of the record's ring
	uint8_t rec[REC_MAX];
};

static const int readable[PAGES] = {[1] = 1, [2] = 1, [4] = 1, [6] = 1, [7] = 1, [8] = 1, [9] = 1};

#define HIDDEN __attribute__((visibility("hidden"), used))
HIDDEN u64 host_rsp, host_fs, host_gs, target, host_mxcsr = 0x1f80;
HIDDEN struct in cur;
HIDDEN struct out res;
// As FXSAVE64 lays them out.
HIDDEN __attribute__((aligned(16))) uint8_t fx_in[512], fx_before[512], fx_after[512];
// An area of XSAVE in which nothing is in use; there is no mxcsr in it that could be wrong.
HIDDEN __attribute__((aligned(64))) uint8_t initial_area[1024];
HIDDEN u64 initial, in_use, has_xgetbv1;
// Whether programs may set the bases of fs and gs by instructions (AT_HWCAP2). Where they may not, the kernel knows only
// those that were set by arch_prctl(2), and at a switch of threads it loses a base whose selector is not 0.
HIDDEN u64 has_fsgsbase;
void enter_case(void);
void leave_case(void);

#define S1(x) #x
#define S(x) S1(x)
#define LOADY(n) "vmovdqu cur+224+" S(n) "*32(%rip),%ymm" S(n) "\n"
#define STOREY(n) "vmovdqu %ymm" S(n) ",res+256+" S(n) "*32(%rip)\n"
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

// arch_prctl(2): its codes are ARCH_SET_GS, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS from 0x1001 on.
#define PRCTL(code, operand) "mov $158,%eax; mov $" #code ",%edi; " operand ",%rsi; syscall\n"

__asm__(
"enter_case:\n"
"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
"mov %rsp,host_rsp(%rip)\n"
"cmpl $0,has_fsgsbase(%rip); je 1f\n"
"rdfsbase %rax; mov %rax,host_fs(%rip); rdgsbase %rax; mov %rax,host_gs(%rip); jmp 2f\n"
"1:\n"
PRCTL(0x1003, "lea host_fs(%rip)") PRCTL(0x1004, "lea host_gs(%rip)")
PRCTL(0x1002, "mov cur+168(%rip)") PRCTL(0x1001, "mov cur+176(%rip)")
"2:\n"
"mov cur+0(%rip),%rax; mov %rax,target(%rip)\n"
"fxrstor64 fx_in(%rip)\n"
ALL(LOADY)
"mov initial(%rip),%eax; test %eax,%eax; je 1f; xor %edx,%edx; xrstor64 initial_area(%rip); 1:\n"
"fxsave64 fx_before(%rip)\n"
"ldmxcsr cur+184(%rip)\n"
"cmpl $0,has_xgetbv1(%rip); je 1f; mov $1,%ecx; xgetbv; and $5,%eax; mov %rax,in_use(%rip); 1:\n"
"movw cur+216(%rip),%ds; movw cur+218(%rip),%es\n"
"cmpl $0,has_fsgsbase(%rip); je 1f\n"
"movw cur+220(%rip),%fs; movw cur+222(%rip),%gs\n"
"mov cur+168(%rip),%rax; wrfsbase %rax; mov cur+176(%rip),%rax; wrgsbase %rax\n"
"1:\n"
"pushq cur+160(%rip); popfq\n"
"mov cur+32(%rip),%rax; mov cur+40(%rip),%rcx; mov cur+48(%rip),%rdx; mov cur+56(%rip),%rbx\n"
"mov cur+64(%rip),%rsp; mov cur+72(%rip),%rbp; mov cur+80(%rip),%rsi; mov cur+88(%rip),%rdi\n"
"mov cur+96(%rip),%r8; mov cur+104(%rip),%r9; mov cur+112(%rip),%r10; mov cur+120(%rip),%r11\n"
"mov cur+128(%rip),%r12; mov cur+136(%rip),%r13; mov cur+144(%rip),%r14; mov cur+152(%rip),%r15\n"
"jmp *target(%rip)\n"
"leave_case:\n"
"mov %rax,res+0(%rip); mov %rcx,res+8(%rip); mov %rdx,res+16(%rip); mov %rbx,res+24(%rip)\n"
"mov %rsp,res+32(%rip); mov %rbp,res+40(%rip); mov %rsi,res+48(%rip); mov %rdi,res+56(%rip)\n"
"mov %r8,res+64(%rip); mov %r9,res+72(%rip); mov %r10,res+80(%rip); mov %r11,res+88(%rip)\n"
"mov %r12,res+96(%rip); mov %r13,res+104(%rip); mov %r14,res+112(%rip); mov %r15,res+120(%rip)\n"
"mov host_rsp(%rip),%rsp\n"
"pushfq; popq res+128(%rip); cld\n"
"movw %ds,res+216(%rip); movw %es,res+218(%rip); movw %fs,res+220(%rip); movw %gs,res+222(%rip)\n"
"xor %eax,%eax; mov %eax,%ds; mov %eax,%es\n"
"cmpl $0,has_fsgsbase(%rip); je 1f\n"
"rdfsbase %rcx; mov %rcx,res+136(%rip); rdgsbase %rcx; mov %rcx,res+144(%rip)\n"
"mov %eax,%fs; mov %eax,%gs\n"
"mov host_fs(%rip),%rax; wrfsbase %rax; mov host_gs(%rip),%rax; wrgsbase %rax\n"
"1:\n"
"stmxcsr res+152(%rip); ldmxcsr host_mxcsr(%rip)\n"
ALL(STOREY)
"vzeroupper; fxsave64 fx_after(%rip); fninit\n"
"cmpl $0,has_fsgsbase(%rip); jne 1f\n"
PRCTL(0x1003, "lea res+136(%rip)") PRCTL(0x1004, "lea res+144(%rip)")
PRCTL(0x1002, "mov host_fs(%rip)") PRCTL(0x1001, "mov host_gs(%rip)")
"1:\n"
"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
"ret\n");

_Static_assert(__builtin_offsetof(struct in, regs) == 32, "in.regs");
_Static_assert(__builtin_offsetof(struct in, flags) == 160, "in.flags");
_Static_assert(__builtin_offsetof(struct in, mxcsr) == 184, "in.mxcsr");
_Static_assert(__builtin_offsetof(struct in, selectors) == 216, "in.selectors");
_Static_assert(__builtin_offsetof(struct in, ymm) == 224, "in.ymm");

_Static_assert(__builtin_offsetof(struct out, selectors) == 216, "out.selectors");
_Static_assert(__builtin_offsetof(struct out, ymm) == 256, "out.ymm");
_Static_assert(CASES * sizeof(struct out) <= OFF_FAULTS - OFF_OUT, "out");

static uint8_t *shm;
static u64 *faults;

// keep_in_use: the kernel marks the x87 as in use in every signal frame, and on some
// processors (Intel's) it then is in use when the handler returns, on others not while
// its values are the initial ones. The code under test meets no signals of its own loads
// (the tracer takes them), so what was not in use before is not in use behind them.
static void keep_in_use(ucontext_t *u)
{
	enum { SW_RESERVED = 464, XSTATE_BV = 512, MAGIC1 = 0x46505853 };
	uint8_t *f = (uint8_t *)u->uc_mcontext.fpregs;
	if (f == 0 || *(uint32_t *)(f + SW_RESERVED) != MAGIC1 || !has_xgetbv1)
		return;
	if (!(in_use & 1))
		*(u64 *)(f + XSTATE_BV) &= ~1ull;
}

// move_on does to the rings what other threads and the reader do while this thread does not run: records come, and
// are consumed. Not behind the reservation: the reader waits there.
static void move_on(void)
{
	const u64 bytes = 3 * RING_SIZE + 40;
	for (int i = 0; i < RINGS; i++)
		if (*(u64 *)(NEAR_ADDR + SH_RINGS + i * RING_STRIDE) != cur.ringpos)
			return;
	cur.ringpos += bytes, cur.consumed = cur.ringpos;
	for (int i = 0; i < RINGS; i++) {
		uint8_t *r = (uint8_t *)NEAR_ADDR + SH_RINGS + i * RING_STRIDE;
		*(u64 *)r = cur.ringpos, *(u64 *)(r + 64) = cur.consumed;
	}
	res.raced = 1;
}

// on_step is called behind each instruction, with the trap flag set.
static void on_step(greg_t *g)
{
	static u64 steps;
	u64 pc = g[REG_RIP];
	if (pc - CODE_ADDR >= CODE_SIZE) { // entering and leaving
		steps = 0;
		if (pc - (u64)leave_case < 256)
			g[REG_EFL] &= ~0x100;
	} else if (++steps == cur.race) {
		move_on();
	}
}

// break_at puts an int3 at the instruction where the thread is to get a signal, and takes it away.
static void break_at(int on)
{
	static uint8_t was;
	volatile uint8_t *at = (volatile uint8_t *)cur.abort;
	if (at == 0)
		return;
	if (on)
		was = *at, *at = 0xcc;
	else
		*at = was;
}

// on_signal runs on the stack of the code under test, as in a real program: what
// that keeps below its rsp is lost. With the argument "edge" that stack has no room, and
// signals have one of their own.
static void on_signal(int sig, siginfo_t *si, void *ctx)
{
	greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;
	u64 pc = g[REG_RIP];
	keep_in_use(ctx);
	if (sig == SIGTRAP && cur.race) {
		on_step(g);
		return;
	}
	if (sig == SIGTRAP && cur.dies) {
		res.died = 1;
		g[REG_RIP] = (greg_t)leave_case;
		return;
	}
	if (sig == SIGTRAP && cur.abort && pc != cur.abort + 1) { // the kernel has sent the thread to the abort handler
		break_at(0), res.aborted++;
		return;
	}
	if (sig == SIGSEGV || sig == SIGBUS)
		for (u64 i = 0; i < cur.nfault + cur.nedge; i++)
			if (faults[2 * i] == pc) {
				g[REG_RIP] = faults[2 * i + 1];
				if (i < cur.nfault)
					res.nfaults++;
				else
					res.nedges++;
				return;
			}
	res.sig = sig, res.pc = pc, res.addr = (u64)si->si_addr;
	g[REG_RIP] = (greg_t)leave_case;
	g[REG_EFL] &= ~0x400;
}

static void *map(u64 addr, size_t len, int prot, u64 off)
{
	void *p = mmap((void *)addr, len, prot, MAP_SHARED | MAP_FIXED_NOREPLACE, 3, off);
	if (p != (void *)addr && addr != 0)
		exit(3);
	return p;
}

// One CPU's ring: control page, then the data twice. Behind the rings is what walks along stacks need.
static void map_shared(u64 addr)
{
	map(addr, SH_RINGS, PROT_READ | PROT_WRITE, OFF_SHARED);
	for (int i = 0; i < RINGS; i++) {
		u64 r = addr + SH_RINGS + i * RING_STRIDE, off = OFF_SHARED + SH_RINGS + i * RING_STRIDE;
		map(r, PAGE + RING_SIZE, PROT_READ | PROT_WRITE, off);
		map(r + PAGE + RING_SIZE, RING_SIZE, PROT_READ | PROT_WRITE, off + PAGE);
	}
	map(addr + SH_WALK, SHM_SIZE - OFF_SHARED - SH_WALK, PROT_READ | PROT_WRITE, OFF_SHARED + SH_WALK);
}

static void map_memory(u64 base)
{
	for (int p = 0; p < PAGES; p++)
		if (readable[p] && mmap((void *)(base + p * PAGE), PAGE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
			exit(4);
}

static void register_area(void)
{
	if (syscall(SYS_rseq, TCB_ADDR + RSEQ_OFFSET, RSEQ_SIZE, 0, RSEQ_SIGNATURE))
		exit(6);
}

static void unregister_area(void)
{
	if (syscall(SYS_rseq, TCB_ADDR + RSEQ_OFFSET, RSEQ_SIZE, RSEQ_UNREGISTER, RSEQ_SIGNATURE))
		exit(7);
}

// register_rseq makes a struct rseq known to the kernel that generated code finds by the thread pointer TCB_ADDR.
static void register_rseq(void)
{
	uint8_t *tcb = mmap((void *)TCB_ADDR, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (tcb != (void *)TCB_ADDR)
		exit(5);
	*(u64 *)tcb = TCB_ADDR;
	register_area();
}

// spoil_rseq does to the struct rseq what a program may do to it.
static void spoil_rseq(void)
{
	if (cur.gone == GONE)
		unregister_area();
	if (cur.gone == CPU_ID)
		*(volatile uint32_t *)(TCB_ADDR + RSEQ_OFFSET + 4) = cur.cpu;
}

static void mend_rseq(void)
{
	if (cur.gone == CPU_ID)
		unregister_area();
	if (cur.gone)
		register_area();
}

static int is_filled(const uint8_t *p, size_t n, uint8_t with)
{
	return n == 0 || (p[0] == with && memcmp(p, p + 1, n - 1) == 0);
}

static int is_zero(const uint8_t *p, size_t n) { return is_filled(p, n, 0); }

// used_before is how much of a sub-buffer is complete before the code runs.
static uint32_t used_before(u64 sub)
{
	if (sub == (cur.ringpos & (RING_SIZE - 1)) / SUB_SIZE && cur.ringpos % SUB_SIZE)
		return cur.ringpos % SUB_SIZE / 8;
	if (cur.claim && sub == (cur.claim & (RING_SIZE - 1)) / SUB_SIZE)
		return 0;
	return cur.busy >> sub & 1 ? 5 : SUB_SIZE / 8;
}

static void prepare_table(uint8_t *r)
{
	uint32_t *entry = (uint32_t *)(r + SUB_TABLE);
	for (int i = 0; i < SUBS; i++)
		entry[2 * i] = 7 + i, entry[2 * i + 1] = entry[2 * i] - used_before(i);
	*(u64 *)(r + SUB_CLAIM) = cur.claim;
	if (!is_filled(r + PAGE, RING_SIZE, OLD))
		memset(r + PAGE, OLD, RING_SIZE);
}

// collect_table: a ring without a record is as it was, but for what a sequence that was aborted has claimed.
static void collect_table(uint8_t *r, int i)
{
	uint32_t *entry = (uint32_t *)(r + SUB_TABLE);
	u64 claim = *(u64 *)(r + SUB_CLAIM);
	for (int k = 0; k < SUBS; k++) {
		uint32_t used = entry[2 * k] - entry[2 * k + 1];
		if (i == (int)res.ring && res.reclen)
			res.subs[k] = used;
		else if (used != used_before(k) && !(used == 0 && (cur.dies || (i < RINGS / 2 && (claim & (RING_SIZE - 1)) / SUB_SIZE == (u64)k))))
			res.badmem = 8;
	}
}

static void collect(uint8_t *shared)
{
	u64 pos = cur.ringpos;
	uint8_t fill = cur.overwrite ? OLD : 0;
	res.pos = pos;
	memcpy(res.maps, shared + SH_MAPS, MAPS_SIZE);
	if (!is_zero(shared + SH_MAPS + MAPS_SIZE, 4096))
		res.badmem = 7;
	memcpy(res.vars, shared + SH_VARS, sizeof res.vars);
	for (int i = 0; i < RINGS; i++) {
		uint8_t *r = shared + SH_RINGS + i * RING_STRIDE;
		u64 len = (cur.overwrite ? *(u64 *)r : *(u64 *)r << DISTANCE >> DISTANCE) - pos;
		if (cur.near && i >= (int)cur.near_from)
			memset(r + PAGE + ((pos - 8 * cur.near) & (RING_SIZE - 1)), 0, 24);
		uint8_t *d = r + PAGE + (pos & (RING_SIZE - 1));
		if (*(u64 *)(r + 64) != cur.consumed)
			res.badmem = 1;
		res.dropped += ((u64 *)r)[5];
		if (len != 0) {
			if (res.reclen != 0 || len > REC_MAX) {
				res.badmem = 2;
				continue;
			}
			res.ring = i, res.reclen = len;
			if (!cur.overwrite)
				res.distance = *(u64 *)r >> (64 - DISTANCE);
			memcpy(res.rec, d, len);
			memset(d, fill, len);
		} else { // heads that a sequence stored before it was aborted
			u64 next = (pos + SUB_SIZE - 1) & -SUB_SIZE;
			if (cur.overwrite && *(u64 *)(r + SUB_CLAIM) >= pos)
				next = *(u64 *)(r + SUB_CLAIM);
			memset(d, fill, 32);
			memset(r + PAGE + (next & (RING_SIZE - 1)), fill, 96);
		}
		if (cur.overwrite)
			collect_table(r, i);
		if (!is_filled(r + PAGE, RING_SIZE, fill))
			res.badmem = 3;
		if (fill)
			memset(r + SUB_TABLE, 0, 8 * SUBS), *(u64 *)(r + SUB_CLAIM) = 0;
		if (fill || res.badmem)
			memset(r + PAGE, 0, RING_SIZE);
		u64 *c = (u64 *)(shared + SH_COUNTERS + i * COUNTER_STRIDE + SITE_OFF);
		for (int k = 0; k < 4; k++)
			res.counters[k] += c[k], c[k] = 0;
		if (!is_zero(shared + SH_COUNTERS + i * COUNTER_STRIDE, COUNTER_STRIDE))
			res.badmem = 4;
	}
	if (*(u64 *)(TCB_ADDR + RSEQ_OFFSET + RSEQ_CS) != 0 || *(u64 *)TCB_ADDR != TCB_ADDR)
		res.badmem = 6;
}

static void prepare(uint8_t *shared)
{
	*(u64 *)(shared + SH_CONTROL) = cur.control; // the upper half: the switch
	memcpy(shared + SH_VARS, cur.vars, sizeof cur.vars);
	memcpy(shared + SH_MAPS, shm + OFF_MAPS, MAPS_SIZE);
	*(u64 *)(shared + SH_CLOCK) = COARSE_TIME;
	((u64 *)(shared + SH_REGISTERED))[TCB_ADDR >> 12 & 4095] = cur.listed ? TCB_ADDR : 0;
	for (int i = 0; i < RINGS; i++) {
		uint8_t *r = shared + SH_RINGS + i * RING_STRIDE;
		*(u64 *)r = cur.ringpos, *(u64 *)(r + 64) = cur.consumed;
		u64 *w = (u64 *)r + 1; // thread, epoch, from, limit, dropped
		memset(w, 0, 40);
		if (cur.ready) {
			w[0] = cur.fs, w[1] = cur.ready == 1 ? __builtin_ia32_rdtsc() >> 27 : cur.ready;
			w[2] = cur.ringpos, w[3] = (cur.ringpos + SUB_SIZE - 1) & -SUB_SIZE;
		}
		if (cur.overwrite)
			prepare_table(r);
		if (cur.near && i >= (int)cur.near_from) {
			*(u64 *)r |= cur.near << (64 - DISTANCE);
			u64 *context = (u64 *)(r + PAGE + ((cur.ringpos - 8 * cur.near) & (RING_SIZE - 1)));
			context[0] = 1, context[2] = cur.near_thread;
			context[1] = cur.near_time == 0 ? __builtin_ia32_rdtsc() : cur.near_time == 1 ? 0 : cur.near_time;
		}
	}
}

// check_memory compares the program's memory but what lies below the red zone.
static void check_memory(const uint8_t *pristine, u64 base)
{
	u64 low = cur.regs[4] - 128 - base;
	for (int p = 0; p < PAGES; p++) {
		if (!readable[p])
			continue;
		u64 from = p * PAGE, to = from + PAGE;
		if (p >= 6) {
			if (to <= low)
				from = to;
			else if (from < low)
				from = low;
		}
		if (from < to && memcmp((void *)(base + from), pristine + from, to - from))
			res.badmem = 5;
		if (p >= 6)
			memcpy((void *)(base + p * PAGE), pristine + p * PAGE, PAGE);
	}
}

int main(int argc, char **argv)
{
	shm = mmap(0, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (shm == MAP_FAILED)
		return 2;
	map(CODE_ADDR, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, OFF_CODE);
	map_shared(NEAR_ADDR);
	map_shared(FAR_ADDR);
	if (argc > 1 && !strcmp(argv[1], "low"))
		map_shared(LOW_ADDR);
	u64 a, b, c1, d;
	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c1), "=d"(d) : "a"(0), "c"(0));
	if (a >= 13) {
		__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c1), "=d"(d) : "a"(13), "c"(1));
		has_xgetbv1 = a >> 2 & 1;
	}
	has_fsgsbase = getauxval(AT_HWCAP2) >> 1 & 1;
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
	if (argc > 1 && !strcmp(argv[1], "edge")) {
		stack_t st = {.ss_size = 1 << 16};
		st.ss_sp = mmap(0, st.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sigaltstack(&st, 0);
		sa.sa_flags |= SA_ONSTACK;
	}
	int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	for (int i = 0; i < 5; i++)
		sigaction(sigs[i], &sa, 0);
	register_rseq();
	u64 *head = (u64 *)shm, mapped = 0;
	head[2] = (u64)leave_case;
	char c = 'r';
	while (write(1, &c, 1) == 1 && read(0, &c, 1) == 1) {
		u64 n = head[0], base = head[3];
		if (!mapped)
			map_memory(base), mapped = 1;
		const uint8_t *pristine = shm + PAGE;
		for (int p = 0; p < PAGES; p++)
			if (readable[p])
				memcpy((void *)(base + p * PAGE), pristine + p * PAGE, PAGE);
		for (u64 i = 0; i < n; i++) {
			head[1] = i;
			cur = ((struct in *)(shm + OFF_IN))[i];
			memset(&res, 0, __builtin_offsetof(struct out, rec));
			faults = (u64 *)(shm + OFF_FAULTS) + 2 * cur.faults;
			prepare((uint8_t *)NEAR_ADDR);
			memcpy(fx_in, cur.x87, X87);
			*(uint32_t *)(fx_in + 24) = 0x1f80;
			memset(fx_before, 0, X87), memset(fx_after, 0, X87);
			initial = cur.initial;
			break_at(1);
			spoil_rseq();
			enter_case();
			mend_rseq();
			break_at(0);
			res.inuse = in_use;
			memcpy(res.before, fx_before, X87), memcpy(res.after, fx_after, X87);
			memset(res.before + 24, 0, 8), memset(res.after + 24, 0, 8);
			collect((uint8_t *)NEAR_ADDR);
			check_memory(pristine, base);
			struct out *o = (struct out *)(shm + OFF_OUT) + i;
			memcpy(o, &res, __builtin_offsetof(struct out, rec) + (res.reclen <= REC_MAX ? res.reclen : 0));
		}
		head[1] = n;
	}
	return 0;
}
