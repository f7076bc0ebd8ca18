/* Lives that disturb what hit programs and the tracer rely on: restartable sequences, thread pointers, stacks. */
#include "life.h"
#include <linux/rseq.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

/* LIFE_LONG: as many rounds as show a rare loss; a tenth is enough where each hit is slow. */
static long scale(long n)
{
	return getenv("LIFE_LONG") ? n : n / 20;
}

#define RSEQ_SIGNATURE 0x53053053
#define CPUS 4096

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static struct rseq *glibc_rseq(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static int enter_rseq(struct rseq *r)
{
	memset(r, 0, sizeof *r);
	r->cpu_id = -1;
	return syscall(SYS_rseq, r, 32, 0, RSEQ_SIGNATURE) ? -errno : 0;
}

static int leave_rseq(struct rseq *r)
{
	return syscall(SYS_rseq, r, 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIGNATURE) ? -errno : 0;
}

static struct { long n, pad[7]; } per_cpu[CPUS];

/* Adds one to this CPU's counter, slowly, in a sequence of its own; 0: interrupted. */
NOINLINE int bump(struct rseq *r, int turns)
{
	int cpu = __atomic_load_n(&r->cpu_id_start, __ATOMIC_RELAXED);
	long *v = &per_cpu[cpu & (CPUS - 1)].n;

	__asm__ goto volatile(
		".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n"
		"3:\t.long 0, 0\n\t.quad 1f, 2f-1f, 4f\n\t.popsection\n\t"
		".pushsection __rseq_failure, \"ax\"\n\t"
		".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n"
		"4:\tjmp %l[interrupted]\n\t.popsection\n\t"
		"leaq 3b(%%rip), %%rax\n\t"
		"movq %%rax, 8(%[r])\n"
		"1:\tcmpl %[cpu], 4(%[r])\n\t"
		"jnz %l[interrupted]\n\t"
		"movq (%[v]), %%rax\n\t"
		"movl %[turns], %%ecx\n"
		"5:\tdecl %%ecx\n\tjnz 5b\n\t"
		"incq %%rax\n\t"
		"movq %%rax, (%[v])\n"
		"2:\n"
		: : [r] "r"(r), [cpu] "r"(cpu), [v] "r"(v), [turns] "r"(turns)
		: "rax", "rcx", "memory", "cc" : interrupted);
	return 1;
interrupted:
	return 0;
}

static volatile int stop;

static void on_tick(int sig)
{
	int e = errno;
	quiet_work(sig);
	errno = e;
}

static void tick(int us)
{
	struct itimerval it = { { 0, us }, { 0, us } };
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_RESTART };

	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &it, NULL);
}

static void no_ticks(void)
{
	struct itimerval it = { 0 };
	setitimer(ITIMER_PROF, &it, NULL);
	signal(SIGPROF, SIG_IGN);
}

#define BUMPS 100000

static void *bumps(void *arg)
{
	struct rseq *r = glibc_rseq();
	static __thread struct rseq own __attribute__((aligned(32)));

	if (arg) {
		r = &own;
		if (leave_rseq(glibc_rseq()) || enter_rseq(r))
			return (void *)-1;
	}
	for (long i = 0; i < BUMPS; i++) {
		while (!bump(r, 200))
			;
		if (i % 128 == 0)
			step(i, 1);
		if (i % 64 == 0)
			quiet(i, 1);
	}
	if (arg)
		leave_rseq(r);
	for (long i = 0; i < 200; i++)
		step(i, 2);
	return NULL;
}

/* Sequences of the program, in glibc's area or in one of its own, under ticks whose handler has tracepoints. */
static int sequences(long own)
{
	pthread_t t[4];
	long sum = 0;

	if (!&__rseq_size || !__rseq_size) {
		say("no rseq", 0);
		return 0;
	}
	tick(100);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, bumps, (void *)own);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	no_ticks();
	for (int i = 0; i < CPUS; i++)
		sum += per_cpu[i].n;
	say("sum", sum);
	return 0;
}
static int sequences_of_glibc(void) { return sequences(0); }
static int sequences_of_its_own(void) { return sequences(1); }

/* Runs long enough for a tracer to look at a thread that does not stop by itself. */
static void lingers(void)
{
	struct timespec t;

	do {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("");
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_nsec < 25000000);
}

/* Threads give their area back, while they are traced, and go on. */
static void *gives_back(void *arg)
{
	for (long i = 0; i < 500; i++)
		step(i, 1);
	lingers();
	leave_rseq(glibc_rseq());
	for (long i = 0; i < scale(200000); i++)
		step(i, 2);
	return arg;
}

static int gives_areas_back(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, gives_back, NULL);
	gives_back(NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* Threads write to the numbers of the CPU in their areas: such that no CPU has, where every call is counted, and such
 * that another CPU has. */
static void *spoils(void *arg)
{
	static const uint32_t none[] = { 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, CPUS * 64, 0x10000 };
	volatile uint32_t *area = (volatile uint32_t *)glibc_rseq();
	uint32_t was = area[0];

	lingers();
	for (long i = 0; i < scale(40000); i++) {
		area[0] = area[1] = none[i % 6];
		step(i, 1);
		area[0] = area[1] = i % 2;
		quiet(i, 1);
	}
	area[0] = area[1] = was;
	sched_yield();
	return arg;
}

static int spoils_areas(void)
{
	pthread_t t[4];

	if (!&__rseq_size || !__rseq_size)
		return 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, spoils, NULL);
	spoils(NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* Threads give their area back and take another one, again and again. */
static void *swaps(void *arg)
{
	static __thread struct rseq own __attribute__((aligned(32)));
	struct rseq *g = glibc_rseq();

	lingers();
	for (long r = 0; r < 20; r++) {
		leave_rseq(g);
		if (r % 2)
			enter_rseq(&own);
		for (long i = 0; i < scale(4000); i++)
			step(i, 1);
		if (r % 2)
			leave_rseq(&own);
		enter_rseq(g);
		for (long i = 0; i < scale(4000); i++)
			step(i, 2);
	}
	return arg;
}

static int swaps_areas(void)
{
	pthread_t t[4];

	if (!&__rseq_size || !__rseq_size)
		return 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, swaps, NULL);
	swaps(NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* An area in memory that has another use later. It is registered before a tracer attaches. */
static struct rseq *area;
static volatile uint64_t *cells;

__attribute__((constructor)) static void early(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "reuses-area"))
		return;
	/* near the thread's own data, where its distance fits 32 bits */
	char *near = (char *)((uintptr_t)__builtin_thread_pointer() & ~4095UL) - (64 << 20);
	area = mmap(near, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (&__rseq_size && __rseq_size)
		leave_rseq(glibc_rseq());
	enter_rseq(area);
}

static int reuses_area(void)
{
	int bad = 0;

	for (long i = 0; i < scale(50000); i++)
		step(i, 1);
	say("left", leave_rseq(area));
	cells = (volatile uint64_t *)area;
	for (int k = 0; k < 64; k++)
		cells[k] = 0x0101010101010101ULL * (k + 1);
	for (long i = 0; i < scale(50000); i++) {
		step(i, 2);
		for (int k = 0; k < 8; k++)
			bad += cells[k] != 0x0101010101010101ULL * (k + 1);
	}
	say("bad", bad);
	munmap((void *)area, 4096);
	for (long i = 0; i < 1000; i++)
		step(i, 3);
	return 0;
}

/* Threads that end while others create them, all in hits. */
static void *brief(void *arg)
{
	work((long)arg);
	return arg;
}

static void *makes(void *arg)
{
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	for (long i = 0; i < 150; i++) {
		pthread_t t[3];
		for (int k = 0; k < 3; k++)
			pthread_create(&t[k], &a, brief, (void *)i);
		work(i);
		for (int k = 0; k < 3; k++)
			pthread_join(t[k], NULL);
	}
	return arg;
}

static int churns(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, makes, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* exit_group with hits in flight. */
static void *endless(void *arg)
{
	for (long i = 0; !stop; i++)
		quiet(i, (long)arg);
	return NULL;
}

static int exits_in_hits(void)
{
	pthread_t t;

	for (long i = 0; i < 5; i++)
		pthread_create(&t, NULL, endless, (void *)i);
	usleep(30000);
	say_steps();
	_exit(41);
}

/* Coroutines on small stacks that are mapped, unmapped and moved. */
static ucontext_t back, co[8];

static void routine(int k)
{
	for (int i = 0; i < 40; i++) {
		work(i + k);
		swapcontext(&co[k], &back);
	}
}

static int coroutines(void)
{
	char *stack[8];

	for (int round = 0; round < 6; round++) {
		for (int k = 0; k < 8; k++) {
			stack[k] = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			getcontext(&co[k]);
			co[k].uc_stack.ss_sp = stack[k] + 4096;
			co[k].uc_stack.ss_size = 65536 - 4096;
			co[k].uc_link = &back;
			mprotect(stack[k], 4096, PROT_NONE);
			makecontext(&co[k], (void (*)(void))routine, 1, k);
		}
		for (int i = 0; i < 40; i++)
			for (int k = 0; k < 8; k++)
				swapcontext(&back, &co[k]);
		for (int k = 0; k < 8; k++)
			munmap(stack[k], 65536);
	}
	return 0;
}

/* The frame pointer and the stack above are anything. */
static NOINLINE long odd_frames(long n, long fp)
{
	long r = 0;
	for (int i = 0; i < 50; i++) {
		__asm__ volatile("pushq %%rbp\n\tmovq %[fp], %%rbp\n\tcall step\n\tpopq %%rbp"
			: "=a"(r) : [fp] "r"(fp), "D"(n), "S"((long)i)
			: "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	}
	return r;
}

static int odd_stacks(void)
{
	long bad[] = { 0, 8, -8, 1L << 47, -1L << 47, 0x7fffffffffffffff, (long)__builtin_thread_pointer(), (long)per_cpu, 0x1234567812345678 };
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		odd_frames(i, bad[i]);
	bad[0] = (long)&bad[0]; /* a frame that is its own caller */
	odd_frames(9, bad[0]);
	return 0;
}

/* A child that shares the memory but is no thread, without a thread pointer of its own, in hits together
 * with its parent. */
static int sharer(void *arg)
{
	for (long i = 0; i < scale(20000); i++)
		step(i, (long)arg);
	return 12;
}

static int shares(void)
{
	static char stack[4][65536];
	pid_t pid[4];

	for (long k = 0; k < 4; k++)
		pid[k] = clone(sharer, stack[k] + sizeof stack[k] - 64, CLONE_VM | SIGCHLD, (void *)k);
	for (long i = 0; i < scale(20000); i++)
		step(i, 9);
	for (int k = 0; k < 4; k++)
		say("sharer", status_of(pid[k]));
	return 0;
}

/* Children that fork and vfork in a storm, from several threads. */
static void *forker(void *arg)
{
	long ok = 0;

	for (long i = 0; i < 60; i++) {
		pid_t pid = i & 1 ? vfork() : fork();
		if (!pid)
			_exit(quiet_work(i) & 0x3f);
		ok += status_of(pid) == (quiet_work(i) & 0x3f);
		work(i);
	}
	return (void *)ok;
}

static int fork_storm(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, forker, NULL);
	for (int i = 0; i < 3; i++) {
		void *ok;
		pthread_join(t[i], &ok);
		say("ok", (long)ok);
	}
	return 0;
}

/* Job control, by a child that stops and continues its parent. */
static int stopped_often(void)
{
	pid_t me = getpid(), pid = fork();

	if (!pid) {
		for (int i = 0; i < 40; i++) {
			usleep(1500);
			kill(me, SIGSTOP);
			usleep(1500);
			kill(me, SIGCONT);
		}
		_exit(5);
	}
	int st;
	while (waitpid(pid, &st, WNOHANG) != pid)
		quiet_work(1);
	say("child", WEXITSTATUS(st));
	return 0;
}

/* The mask of CPUs changes all the time. */
static void *pinned(void *arg)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof all, &all);
	for (long i = 0; i < scale(2000); i++) {
		CPU_ZERO(&one);
		for (int k = 0, n = i % CPU_COUNT(&all); k < CPU_SETSIZE; k++)
			if (CPU_ISSET(k, &all) && n-- == 0)
				CPU_SET(k, &one);
		sched_setaffinity(0, sizeof one, &one);
		work(i);
	}
	return arg;
}

static int migrates(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, pinned, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* Queued signals with values keep their order and their number. */
static volatile long got, order;

static void on_value(int sig, siginfo_t *info, void *ctx)
{
	(void)sig, (void)ctx;
	order += info->si_value.sival_int != got;
	got++;
	quiet(got, 1);
}

static void *sends(void *arg)
{
	pthread_t to = *(pthread_t *)arg;
	for (int i = 0; i < 4000; i++) {
		union sigval v = { .sival_int = i };
		while (pthread_sigqueue(to, SIGRTMIN + 3, v) == EAGAIN)
			sched_yield();
		if (i % 5 == 0)
			step(i, 1);
	}
	return NULL;
}

static int queued(void)
{
	struct sigaction sa = { .sa_sigaction = on_value, .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t me = pthread_self(), t;

	sigaction(SIGRTMIN + 3, &sa, NULL);
	pthread_create(&t, NULL, sends, &me);
	while (got < 4000)
		quiet(1, 2);
	pthread_join(t, NULL);
	say("got", got);
	say("out of order", order);
	return 0;
}

/* Rights to change code are given up after arming, and the tracer has to leave. */
static int seals_code(void)
{
	work(1);
	prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0);
	for (int i = 0; i < 2000; i++)
		work(i);
	return 0;
}

/* System calls are dispatched to a handler of the program (Wine does this), but for libc's. */
static char selector;
static volatile long dispatched;

static void on_sys(int sig, siginfo_t *info, void *ctx)
{
	(void)sig, (void)info, (void)ctx;
	selector = 0;
	dispatched++;
}

static int dispatches(void)
{
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &sa, NULL);
	for (int i = 0; i < 2000; i++) {
		if (i == 3 && prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector))
			say("none", errno);
		if (i >= 3)
			selector = i & 1;
		work(i);
		if (selector)
			getpid();
		selector = 0;
	}
	say("dispatched", dispatched);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "sequences", sequences_of_glibc }, { "own-sequences", sequences_of_its_own }, { "gives-areas-back", gives_areas_back },
		{ "spoils-areas", spoils_areas }, { "swaps-areas", swaps_areas },
		{ "reuses-area", reuses_area }, { "churns", churns }, { "exits-in-hits", exits_in_hits }, { "coroutines", coroutines },
		{ "odd-stacks", odd_stacks }, { "shares", shares }, { "fork-storm", fork_storm }, { "stopped-often", stopped_often },
		{ "migrates", migrates }, { "queued", queued }, { "seals-code", seals_code }, { "dispatches", dispatches }, { 0 },
	};
	return lead(argc, argv, lives);
}
