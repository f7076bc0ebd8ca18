/* Lives with signals, other stacks and jumps out of handlers. */
#include "life.h"
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#ifndef _SC_MINSIGSTKSZ
#define _SC_MINSIGSTKSZ 249 /* musl knows the number by another name, or not */
#endif

/* The size of the kernel's signal frame on this processor. */
static size_t frame_size(void)
{
	long n = sysconf(_SC_MINSIGSTKSZ);

	return n > 0 ? n : 4 * 4096;
}

static volatile sig_atomic_t seen;
static volatile long order;

static void count(int sig)
{
	(void)sig;
	seen++;
	work(3);
}

static void handle(int sig, void (*f)(int), int flags)
{
	struct sigaction a = { .sa_handler = f, .sa_flags = flags };

	sigemptyset(&a.sa_mask);
	if (sigaction(sig, &a, NULL))
		say("no handler for", sig);
}

static int every_signal(void)
{
	for (int s = 1; s <= 64; s++) {
		if (s == SIGKILL || s == SIGSTOP || s == 32 || s == 33)
			continue;
		handle(s, count, 0);
		work(s);
		raise(s);
		kill(getpid(), s);
	}
	say("seen", seen);
	return 0;
}

static int left;
static void nested(int sig)
{
	seen++;
	work(sig);
	if (--left > 0)
		raise(sig);
	order = order * 3 + quiet(left, sig) % 7;
}

static int nests(void)
{
	for (int i = 0; i < 20; i++) {
		left = 8;
		handle(SIGUSR1, nested, SA_NODEFER);
		work(i);
		raise(SIGUSR1);
	}
	say("seen", seen);
	say("order", order);
	return 0;
}

/* A stack with a guard page on either side; the rest of it is touched. */
static char *guarded(size_t size)
{
	char *p = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + 4096, size, PROT_READ | PROT_WRITE);
	return p + 4096;
}

static int alternate(size_t size)
{
	stack_t st = { .ss_sp = guarded(8 * 4096), .ss_size = size };

	if (sigaltstack(&st, NULL))
		say("sigaltstack", errno);
	handle(SIGUSR1, count, SA_ONSTACK);
	handle(SIGUSR2, count, SA_ONSTACK | SA_RESTART);
	for (int i = 0; i < 50; i++) {
		work(i);
		raise(SIGUSR1);
		kill(getpid(), SIGUSR2);
	}
	say("seen", seen);
	return 0;
}

static int alternate_stack(void) { return alternate(8 * 4096); }
static int minimal_stack(void) { return alternate(frame_size()); }

static char *low_stack;
/* The same, but the stack's end is where the handler's needs end: a guard page follows
 * soon after what the handler itself uses. */
static void shallow(int sig)
{
	(void)sig;
	seen++;
	steps++;
}

static int tight_stack(void)
{
	/* MINSIGSTKSZ is what the kernel's frame takes; add what this handler needs */
	size_t need = frame_size();
	stack_t st;

	low_stack = guarded(8 * 4096);
	st = (stack_t) { .ss_sp = low_stack, .ss_size = need };
	if (sigaltstack(&st, NULL))
		say("sigaltstack", errno);
	handle(SIGUSR1, shallow, SA_ONSTACK);
	for (int i = 0; i < 50; i++)
		raise(SIGUSR1);
	steps = 0;
	work(1);
	say("seen", seen);
	return 0;
}

static sigjmp_buf back;
static void jump(int sig) { siglongjmp(back, sig); }

static NOINLINE long touch(volatile long *p) { return *p + 1; }

static int jumps_out(void)
{
	handle(SIGSEGV, jump, 0);
	handle(SIGUSR1, jump, SA_NODEFER);
	for (int i = 0; i < 200; i++) {
		int s = sigsetjmp(back, 1);
		if (!s) {
			work(i);
			if (i & 1)
				touch((long *)(long)(i * 8));
			raise(SIGUSR1);
			say("never", 1);
		}
		seen += s == (i & 1 ? SIGSEGV : SIGUSR1);
	}
	say("seen", seen);
	return 0;
}

static int jumps_off_alternate(void)
{
	stack_t st = { .ss_sp = guarded(8 * 4096), .ss_size = 8 * 4096 };

	sigaltstack(&st, NULL);
	handle(SIGSEGV, jump, SA_ONSTACK);
	for (int i = 0; i < 200; i++)
		if (!sigsetjmp(back, 1)) {
			work(i);
			touch((long *)16);
		} else {
			seen++;
		}
	say("seen", seen);
	return 0;
}

static NOINLINE long deep(long n)
{
	volatile char b[512];

	b[n & 511] = n;
	return deep(n + 1) + b[0] + quiet(n, 1);
}

static int overflows(void)
{
	stack_t st = { .ss_sp = guarded(8 * 4096), .ss_size = 8 * 4096 };
	struct rlimit r = { 256 << 10, 256 << 10 };

	setrlimit(RLIMIT_STACK, &r);
	sigaltstack(&st, NULL);
	handle(SIGSEGV, jump, SA_ONSTACK);
	for (int i = 0; i < 5; i++) {
		work(i);
		if (!sigsetjmp(back, 1))
			deep(i);
		seen++;
	}
	say("seen", seen);
	return 0;
}

/* A handler that continues after the instruction. */
static void skip(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *u = ctx;

	(void)info;
	seen++;
	order = order * 7 + sig;
	if (sig != SIGTRAP)
		u->uc_mcontext.gregs[REG_RIP] += sig == SIGFPE ? 3 : sig == SIGSEGV ? 1 : 2;
	work(sig);
}

static NOINLINE long faults(int kind)
{
	long r = 0;

	switch (kind) {
	case 0: __asm__ volatile("ud2" ::: "memory"); break;
	case 1: __asm__ volatile("int3" ::: "memory"); break;
	case 2: __asm__ volatile("hlt" ::: "memory"); break;
	case 3: __asm__ volatile("xor %%ecx, %%ecx\n idivq %%rcx" : "=a"(r) : "a"(1L), "d"(0L) : "rcx", "memory"); break;
	}
	return r + quiet(kind, 1);
}

static int skip_kinds(int kinds)
{
	struct sigaction a = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };

	for (int *s = (int[]) { SIGILL, SIGTRAP, SIGSEGV, SIGFPE, 0 }; *s; s++)
		sigaction(*s, &a, NULL);
	for (int i = 0; i < 80; i++) {
		work(i);
		faults(i % kinds);
	}
	say("seen", seen);
	say("order", order);
	return 0;
}

static int skips(void) { return skip_kinds(3); }

/* After a division or an access the next instruction may be displaced too. */
static int resumes_behind(void) { return skip_kinds(4); }

static int bus(void)
{
	char name[] = "/tmp/lifeXXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	if (ftruncate(fd, 4096))
		return 90;
	char *p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	handle(SIGBUS, jump, 0);
	for (int i = 0; i < 50; i++) {
		work(i);
		if (!sigsetjmp(back, 1))
			touch((long *)(p + 4096));
		else
			seen++;
	}
	say("seen", seen);
	return 0;
}

/* A profiler: nearly all ticks find the program in its own code. */
static struct { uintptr_t lo, hi; } code[64];
static int codes;
static volatile long ticks, found;

static int note_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	for (int i = 0; i < info->dlpi_phnum && codes < 64; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			code[codes].lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			code[codes].hi = code[codes].lo + info->dlpi_phdr[i].p_memsz;
			codes++;
		}
	return 0;
}

static void sample(int sig, siginfo_t *info, void *ctx)
{
	uintptr_t pc = ((ucontext_t *)ctx)->uc_mcontext.gregs[REG_RIP];
	int in = 0;

	(void)sig, (void)info;
	for (int i = 0; i < codes; i++)
		in |= pc >= code[i].lo && pc < code[i].hi;
	ticks++;
	found += in;
}

static int profiles(void)
{
	struct sigaction a = { .sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval v = { { 0, 1000 }, { 0, 1000 } };
	long n = 1;

	dl_iterate_phdr(note_code, NULL);
	sigaction(SIGPROF, &a, NULL);
	work(1);
	setitimer(ITIMER_PROF, &v, NULL);
	while (ticks < 20) /* 20 ms of the processor: minutes where each hit is a stop and the machine is busy */
		n = quiet_work(n) | 1;
	v.it_value.tv_usec = 0;
	setitimer(ITIMER_PROF, &v, NULL);
	say("in the program's code", found * 2 > ticks);
	return 0;
}

static void tick(int sig)
{
	(void)sig;
	seen++;
	order = quiet_work(order);
}

static int timers(void)
{
	struct itimerval v = { { 0, 20000 }, { 0, 20000 } };

	handle(SIGALRM, tick, SA_RESTART);
	handle(SIGPROF, tick, SA_RESTART);
	setitimer(ITIMER_REAL, &v, NULL);
	setitimer(ITIMER_PROF, &v, NULL);
	for (int i = 0; i < 100 || (seen < 5 && i < 100000000); i++)
		(i < 100 ? work : quiet_work)(i);
	v.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &v, NULL);
	setitimer(ITIMER_PROF, &v, NULL);
	say("ticked", seen >= 5);
	return 0;
}

static int takes(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 30; i++) {
		siginfo_t info;
		union sigval v = { .sival_int = i };
		work(i);
		sigqueue(getpid(), SIGRTMIN + i % 5, v);
		raise(SIGUSR1);
		int a = sigwaitinfo(&set, &info), b = sigwaitinfo(&set, &info);
		seen += (a == SIGUSR1 || b == SIGUSR1) && info.si_pid == getpid();
	}
	say("seen", seen);
	return 0;
}

static int blocks_all(void)
{
	sigset_t set, now;
	struct timespec zero = { 0, 0 };
	int n = 0;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 100; i++)
		work(i);
	sigprocmask(SIG_SETMASK, NULL, &now);
	for (int s = 1; s < 64; s++)
		n += sigismember(&now, s);
	say("blocked", n);
	say("pending", sigtimedwait(&set, NULL, &zero));
	return 0;
}

static int resets(void)
{
	handle(SIGUSR1, count, SA_RESETHAND);
	work(1);
	raise(SIGUSR1);
	say_steps();
	raise(SIGUSR1);
	return 97;
}

static int dies(int sig)
{
	struct rlimit r = { 0, 0 };

	setrlimit(RLIMIT_CORE, &r);
	work(sig);
	say_steps();
	if (sig == SIGSEGV)
		touch((long *)24);
	if (sig == SIGFPE)
		__asm__ volatile("xor %%ecx, %%ecx\n idivl %%ecx" ::: "eax", "ecx", "edx");
	if (sig == SIGILL)
		__asm__ volatile("ud2");
	if (sig == SIGTRAP)
		__asm__ volatile("int3");
	raise(sig);
	return 97;
}

static int dies_term(void) { return dies(SIGTERM); }
static int dies_kill(void) { return dies(SIGKILL); }
static int dies_segv(void) { return dies(SIGSEGV); }
static int dies_trap(void) { return dies(SIGTRAP); }
static int dies_ill(void) { return dies(SIGILL); }
static int dies_fpe(void) { return dies(SIGFPE); }
static int dies_rt(void) { return dies(SIGRTMIN + 3); }
static int dies_abrt(void) { work(1); say_steps(); abort(); }

static int ignore_from(int trap)
{
	for (int s = 1; s <= 64; s++)
		if (s != SIGTRAP || trap)
			signal(s, SIG_IGN);
	for (int s = 1; s <= 31; s++) {
		work(s);
		if (s != SIGKILL && s != SIGSTOP && (s != SIGTRAP || trap))
			raise(s);
	}
	say("ignored", signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	say("ignored", signal(SIGBUS, SIG_DFL) == SIG_IGN);
	return 0;
}

static int ignores(void) { return ignore_from(0); }
static int ignores_trap(void) { return ignore_from(1); }

/* A handler that lets the signal end the program, as crash reporters do. */
static void give_up(int sig)
{
	signal(sig, SIG_DFL);
	work(sig);
	say_steps();
	raise(sig);
	say("never", 1);
}

static int gives_up(void)
{
	struct rlimit r = { 0, 0 };

	setrlimit(RLIMIT_CORE, &r);
	handle(SIGTRAP, give_up, SA_NODEFER);
	work(1);
	raise(SIGTRAP);
	return 97;
}

/* The default action, of the program's own accord, and then the signal. */
static int defaults_trap(void)
{
	struct rlimit r = { 0, 0 };

	setrlimit(RLIMIT_CORE, &r);
	signal(SIGTRAP, SIG_DFL);
	work(1);
	say_steps();
	raise(SIGTRAP);
	return 97;
}

#ifndef NO_CONTEXTS /* musl has none */
#define CONTEXTS { "contexts", contexts },
static ucontext_t here, there;
static void routine(int n)
{
	for (int i = 0; i < n; i++) {
		work(i);
		swapcontext(&there, &here);
	}
}

static int contexts(void)
{
	for (int i = 0; i < 20; i++) {
		getcontext(&there);
		there.uc_stack.ss_sp = guarded(4096);
		there.uc_stack.ss_size = 4096;
		there.uc_link = &here;
		makecontext(&there, (void (*)(void))routine, 1, 10);
		for (int k = 0; k < 11; k++) {
			swapcontext(&here, &there);
			quiet_work(k);
		}
	}
	return 0;
}
#else
#define CONTEXTS
#endif

static void *small_thread(void *arg)
{
	work((long)arg);
	return NULL;
}

static int small_stacks(void)
{
	for (long i = 0; i < 40; i++) {
		pthread_attr_t a;
		pthread_t t;

		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 16384);
		if (pthread_create(&t, &a, small_thread, (void *)i))
			return 90;
		pthread_join(t, NULL);
	}
	return 0;
}

/* Calls quiet with the stack pointer so near to a guard page that only its red zone fits. */
static NOINLINE long on_edge(char *sp)
{
	long r;

	__asm__ volatile("mov %%rsp, %%r12\n mov %1, %%rsp\n mov $5, %%edi\n mov $6, %%esi\n call quiet\n mov %%r12, %%rsp"
		: "=a"(r) : "r"(sp) : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
	return r;
}

static int edge(void)
{
	char *low = guarded(4096);

	work(1);
	for (int room = 136; room < 1200; room += 8)
		if (room % 16 == 0)
			seen += on_edge(low + room) == 5 * 31 + 6;
	say("seen", seen);
	return 0;
}

static void *storm_thread(void *arg)
{
	pthread_t *to = arg;

	for (int i = 0; i < 2000; i++)
		pthread_kill(*to, i & 1 ? SIGUSR1 : SIGUSR2);
	return NULL;
}

static int storm(void)
{
	pthread_t t[3], me = pthread_self();

	handle(SIGUSR1, tick, SA_RESTART);
	handle(SIGUSR2, tick, SA_NODEFER);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, storm_thread, &me);
	for (int i = 0; i < 400; i++)
		work(i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	say("seen", seen > 0);
	return 0;
}

static pthread_barrier_t barrier;
static void *cancel_thread(void *arg)
{
	(void)arg;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_barrier_wait(&barrier);
	for (;;)
		quiet_work(1);
	return NULL;
}

static int cancels(void)
{
	void *r;

	for (int i = 0; i < 30; i++) {
		pthread_t t;
		pthread_barrier_init(&barrier, NULL, 2);
		pthread_create(&t, NULL, cancel_thread, NULL);
		pthread_barrier_wait(&barrier);
		work(i);
		pthread_cancel(t);
		pthread_join(t, &r);
		seen += r == PTHREAD_CANCELED;
	}
	say("cancelled", seen);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "every-signal", every_signal }, { "nests", nests }, { "alternate-stack", alternate_stack }, { "minimal-stack", minimal_stack },
		{ "tight-stack", tight_stack }, { "jumps-out", jumps_out }, { "jumps-off-alternate", jumps_off_alternate }, { "overflows", overflows },
		{ "skips", skips }, { "resumes-behind", resumes_behind }, { "bus", bus }, { "timers", timers }, { "profiles", profiles }, { "takes", takes }, { "blocks-all", blocks_all }, { "resets", resets },
		{ "dies-term", dies_term }, { "dies-kill", dies_kill }, { "dies-segv", dies_segv }, { "dies-trap", dies_trap }, { "dies-ill", dies_ill },
		{ "dies-fpe", dies_fpe }, { "dies-rt", dies_rt }, { "dies-abrt", dies_abrt }, { "ignores", ignores }, { "ignores-trap", ignores_trap }, { "gives-up", gives_up }, { "defaults-trap", defaults_trap }, CONTEXTS
		{ "small-stacks", small_stacks }, { "edge", edge }, { "storm", storm }, { "cancels", cancels }, { 0 },
	};

	return lead(argc, argv, lives);
}
