// control MODE: what run control is tried on.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long watched, handled;

__attribute__((noinline)) long target(long x) {
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

static void *hits(void *arg) {
	long n = (long)arg, x = 0;
	for (long i = 0; i < n; i++) x += target(i);
	return (void *)x;
}

__attribute__((noinline)) long sum(long n) {
	long x = 0;
	for (long i = 0; i < n; i++) x += i * 3 + 1;
	return x;
}

// threads N HITS: N threads call target HITS times each.
static int threads(int n, long count) {
	pthread_t t[64];
	int bad = 0;
	for (int i = 0; i < n; i++) pthread_create(&t[i], 0, hits, (void *)count);
	for (int i = 0; i < n; i++) {
		void *r;
		pthread_join(t[i], &r);
		bad += (long)r != sum(count);
	}
	printf("bad %d\n", bad);
	return bad;
}

static void handler(int sig) { handled++; }

// signals: raises signals at itself.
static int signals(void) {
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	raise(SIGUSR1);
	raise(SIGUSR2);
	target(1);
	printf("handled %ld\n", handled);
	return 0;
}

static void relays(int sig) {
	handled++;
	raise(sig);
}

// relay: a signal whose handler raises it again, without end; a lost one ends it.
static int relay(void) {
	signal(SIGUSR1, relays);
	printf("ready\n");
	fflush(stdout);
	raise(SIGUSR1);
	return 9;
}

// patched: a function whose first instruction has five bytes.
__asm__(".text\n.globl patched\n.type patched,@function\npatched: lea 1(%rdi,%rdi,2),%rax\nretq\n.size patched,.-patched");
long patched(long);
static void *calls_patched(void *arg) {
	long n = (long)arg, x = 0;
	for (long i = 0; i < n; i++) x += patched(i);
	return (void *)x;
}
// patch N HITS: as threads.
static int patch(int n, long count) {
	pthread_t t[64];
	int bad = 0;
	for (int i = 0; i < n; i++) pthread_create(&t[i], 0, calls_patched, (void *)count);
	for (int i = 0; i < n; i++) {
		void *r;
		pthread_join(t[i], &r);
		bad += (long)r != sum(count);
	}
	printf("bad %d\n", bad);
	return bad;
}

// forks: children in several ways.
static int forks(void) {
	int st = 0, all = 0;
	pid_t pid = fork();
	if (!pid) {
		target(5);
		_exit(3);
	}
	waitpid(pid, &st, 0);
	all += WIFEXITED(st) ? WEXITSTATUS(st) : 1000;
	pid = vfork();
	if (!pid) {
		target(6);
		_exit(4);
	}
	waitpid(pid, &st, 0);
	all += WIFEXITED(st) ? WEXITSTATUS(st) : 1000;
	all += WEXITSTATUS(system("exit 5"));
	printf("children %d\n", all);
	return 0;
}

// calls: system calls, one of which sleeps.
__attribute__((noinline)) long call(long nr, long a, long b, long c) {
	long r;
	__asm__ volatile(".globl the_syscall\nthe_syscall: syscall" : "=a"(r) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}
static void *writer(void *arg) {
	int *p = arg;
	for (int i = 0; i < 100; i++) target(i);
	write(p[1], "x", 1);
	return 0;
}
static int calls(void) {
	int p[2];
	char c = 0;
	pthread_t t;
	pipe(p);
	call(SYS_getpid, 0, 0, 0);
	pthread_create(&t, 0, writer, p);
	long n = call(SYS_read, p[0], (long)&c, 1);
	pthread_join(t, 0);
	call(SYS_getppid, 0, 0, 0);
	printf("read %ld %c\n", n, c);
	return 0;
}

// insns: instructions that are hard to step.
long flags_pushed, flags_after;
__attribute__((noinline)) int insns(void) {
	static char from[500], to[500];
	memset(from, 'a', sizeof from);
	void *s = from, *d = to;
	long n = sizeof from;
	__asm__ volatile(".globl the_rep\nthe_rep: rep movsb\n.globl behind_rep\nbehind_rep: nop" : "+S"(s), "+D"(d), "+c"(n) : : "memory");
	long f, g;
	__asm__ volatile(".globl the_pushf\nthe_pushf: pushfq\npopq %0\npushfq\npopfq\npushfq\npopq %1\n.globl behind_pushf\nbehind_pushf: nop" : "=&r"(f), "=&r"(g) : : "cc", "memory");
	flags_pushed = f, flags_after = g;
	printf("%d %d %d\n", memcmp(from, to, sizeof from), (int)(f >> 8 & 1), (int)(g >> 8 & 1));
	return 0;
}

// watches: writes and reads what is watched.
static void *toucher(void *arg) {
	for (int i = 0; i < 3; i++) watched = i + 10;
	return 0;
}
static int watches(void) {
	watched = 1;
	watched = 2;
	long x = watched;
	pthread_t t;
	pthread_create(&t, 0, toucher, 0);
	pthread_join(t, 0);
	target(x);
	printf("watched %ld\n", watched);
	return 0;
}

// traps: int3s of its own, and SIGTRAP by kill.
static int traps(void) {
	signal(SIGTRAP, handler);
	__asm__ volatile(".globl the_int3\nthe_int3: int3");
	kill(getpid(), SIGTRAP);
	printf("handled %ld\n", handled);
	return 0;
}

// blocked: SIGTRAP is caught, and blocked, when breakpoints are hit.
static int blocked(void) {
	struct sigaction sa = {.sa_handler = handler}, now;
	sigset_t set, old;
	sigaction(SIGTRAP, &sa, 0);
	target(0);
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, 0);
	for (int i = 0; i < 10; i++) target(i);
	sigaction(SIGTRAP, 0, &now);
	sigprocmask(SIG_BLOCK, 0, &old);
	int ok = now.sa_handler == handler && sigismember(&old, SIGTRAP);
	printf("kept %d\n", ok);
	return 0;
}

// storm N: signals rain on a thread that calls target.
static volatile int over;
static void *rain(void *arg) {
	pthread_t *t = arg;
	while (!over) {
		pthread_kill(*t, SIGUSR1);
		usleep(100);
	}
	return 0;
}
static int storm(long n) {
	signal(SIGUSR1, handler);
	pthread_t self = pthread_self(), t;
	pthread_create(&t, 0, rain, &self);
	while (handled == 0) sched_yield(); // on a busy machine the calls would be over before the first signal
	long x = 0;
	for (long i = 0; i < n; i++) x += target(i);
	over = 1;
	pthread_join(t, 0);
	printf("bad %d\n", x != sum(n) || handled == 0);
	return 0;
}

// faults: a handler makes the page of a faulting access.
#include <sys/mman.h>
static char *page;
static void onfault(int sig, siginfo_t *si, void *c) {
	handled++;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
static int faults(void) {
	struct sigaction sa = {.sa_sigaction = onfault, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &sa, 0);
	page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__asm__ volatile(".globl the_fault\nthe_fault: movb $7, (%0)" : : "r"(page) : "memory");
	printf("handled %ld %d\n", handled, page[0]);
	return 0;
}

// sleeper: sleeps in a call until a line comes.
static int sleeper(void) {
	signal(SIGUSR1, handler);
	printf("ready\n");
	fflush(stdout);
	char c;
	long n = read(0, &c, 1);
	printf("read %ld handled %ld\n", n, handled);
	return 0;
}

int main(int argc, char **argv) {
	if (!strcmp(argv[1], "threads")) return threads(atoi(argv[2]), atol(argv[3]));
	if (!strcmp(argv[1], "signals")) return signals();
	if (!strcmp(argv[1], "patch")) return patch(atoi(argv[2]), atol(argv[3]));
	if (!strcmp(argv[1], "forks")) return forks();
	if (!strcmp(argv[1], "calls")) return calls();
	if (!strcmp(argv[1], "insns")) return insns();
	if (!strcmp(argv[1], "watches")) return watches();
	if (!strcmp(argv[1], "traps")) return traps();
	if (!strcmp(argv[1], "blocked")) return blocked();
	if (!strcmp(argv[1], "storm")) return storm(atol(argv[2]));
	if (!strcmp(argv[1], "faults")) return faults();
	if (!strcmp(argv[1], "relay")) return relay();
	if (!strcmp(argv[1], "sleeper")) return sleeper();
	if (!strcmp(argv[1], "exec")) execl(argv[0], argv[0], "signals", (char *)0);
	return 99;
}
