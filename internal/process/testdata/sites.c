// sites THREADS ROUNDS MODE: threads call site(), whose first instruction the test
// replaces by int3 or by a jump, and load through pointers, with SIGSEGV and
// SIGTRAP blocked, ignored, caught or default as MODE says.
//   d default  i ignored  c caught  b blocked  B caught and blocked
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// site(x) is 2x+1, and crashes when its first byte is skipped; load(p) faults for wild pointers and is then "fixed up" to -1.
__asm__(".text\n.balign 16\n.globl site\n.type site,@function\nsite: push %rbx\nlea 1(%rdi,%rdi), %rax\npop %rbx\nret\n.size site,.-site\n"
	".balign 16\n.globl load\n.type load,@function\nload: mov (%rdi), %rax\nret\n.globl load_fix\nload_fix: mov $-1, %rax\nret\n.size load,.-load\n"
	".balign 16\n.globl own_trap\n.type own_trap,@function\nown_trap: int3\nret\n.size own_trap,.-own_trap\n");
long site(long), load(long *), own_trap(void);

static volatile long own_segv, own_traps;
static char mode;
static long rounds, n;
static char *hole;
static void on_segv(int sig, siginfo_t *si, void *uc) {
	__atomic_add_fetch(&own_segv, 1, __ATOMIC_RELAXED);
	mprotect((void *)((long)si->si_addr & -4096), 4096, PROT_READ | PROT_WRITE);
}
static void on_trap(int sig, siginfo_t *si, void *uc) { __atomic_add_fetch(&own_traps, 1, __ATOMIC_RELAXED); }

static long fails;
static void check(int ok, const char *what) {
	if (ok) return;
	__atomic_add_fetch(&fails, 1, __ATOMIC_RELAXED);
	static int said;
	if (!said++) printf("failed: %s\n", what);
}
static int blocked(int sig) {
	sigset_t s;
	pthread_sigmask(SIG_BLOCK, 0, &s);
	return sigismember(&s, sig);
}
static void *body(void *arg) {
	long id = (long)arg;
	int want = mode == 'b' || mode == 'B';
	volatile char *mine = hole + id * 4096;
	for (long i = 0; i < rounds; i++) {
		check(site(i) == 2 * i + 1, "site");
		long v = i;
		check(load(&v) == i, "good load");
		if (getenv("WILD")) {
			check(load((long *)(0x10 + i)) == -1, "wild load");
			check(load((long *)0xdead000000000000) == -1, "non-canonical load");
		}
		check(blocked(SIGSEGV) == want, "SIGSEGV blocked");
		check(blocked(SIGTRAP) == want, "SIGTRAP blocked");
		if (mode == 'c' && i % 8 == 0) {
			mprotect((void *)mine, 4096, PROT_NONE);
			*mine = i; // a fault of our own: the handler opens the page
			own_trap();
		}
		void *h = mode == 'i' ? (void *)SIG_IGN : mode == 'c' || mode == 'B' ? (void *)on_segv : (void *)SIG_DFL;
		// Another thread's fault may have reset it a moment ago; it comes back.
		struct sigaction sa;
		int tries = 0;
		do sigaction(SIGSEGV, 0, &sa);
		while ((void *)sa.sa_sigaction != h && n > 1 && tries++ < 20000 && !usleep(100));
		check((void *)sa.sa_sigaction == h, "SIGSEGV action");
		if (mode == 'c' || mode == 'B') check((sa.sa_flags & (SA_SIGINFO | SA_RESTART)) == (SA_SIGINFO | SA_RESTART) && sigismember(&sa.sa_mask, SIGUSR2), "SIGSEGV flags");
	}
	return 0;
}
int main(int argc, char **argv) {
	n = atol(argv[1]);
	rounds = atol(argv[2]);
	mode = *argv[3];
	hole = mmap(0, 4096 * (n + 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_RESTART};
	sigaddset(&sa.sa_mask, SIGUSR2);
	if (mode == 'c' || mode == 'B') {
		sa.sa_sigaction = on_segv;
		sigaction(SIGSEGV, &sa, 0);
		sa.sa_sigaction = on_trap;
		sigaction(SIGTRAP, &sa, 0);
	}
	if (mode == 'i') signal(SIGSEGV, SIG_IGN), signal(SIGTRAP, SIG_IGN);
	if (mode == 'b' || mode == 'B') {
		sigset_t s;
		sigemptyset(&s);
		sigaddset(&s, SIGSEGV);
		sigaddset(&s, SIGTRAP);
		pthread_sigmask(SIG_BLOCK, &s, 0);
	}
	printf("ready\n");
	fflush(stdout);
	char c;
	if (read(0, &c, 1) < 0) perror("read");
	pthread_t t[64];
	for (long i = 0; i < n; i++) pthread_create(&t[i], 0, body, (void *)i);
	for (long i = 0; i < n; i++) pthread_join(t[i], 0);
	long want = mode == 'c' ? n * ((rounds + 7) / 8) : 0;
	check(own_segv == want, "own SIGSEGV count");
	check(own_traps == want, "own SIGTRAP count");
	printf("fails %ld\n", fails);
	return fails != 0;
}
