// Calls of paired and other functions, which are left in all ways, in threads, coroutines and signal handlers. Each call has a
// number of its own, which it returns. Prints how many calls returned, and how many were left otherwise.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <csetjmp>
#include <csignal>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static std::atomic<long> numbers, returned, left;
static int rounds;

enum how { RETURN, RECURSE, THROW, JUMP, YIELD, SIGNAL, TAIL, FORK };
struct call { long number; int depth; };
static thread_local jmp_buf target;
static thread_local ucontext_t *here, *other;

static volatile int sink;
static NOINLINE void work(int n) { for (int i = 0; i < n; i++) sink++; }

extern "C" NOINLINE long paired(struct call *c, int how, double level);

extern "C" NOINLINE long last(long number) { work(3); returned++; return number; }

static long go(int how, int depth, double level)
{
	struct call c = {++numbers, depth};
	long number = c.number;
	if (paired(&c, how, level) != number)
		abort();
	return number;
}

extern "C" NOINLINE long paired(struct call *c, int how, double level)
{
	long number = c->number;
	work(5);
	if (c->depth > 0) {
		go(how, c->depth - 1, level / 2);
	} else switch (how) {
	case THROW: throw number;
	case JUMP: longjmp(target, 1);
	case YIELD: swapcontext(here, other); break;
	case SIGNAL: raise(SIGUSR1); break;
	case FORK:
		if (pid_t p = fork()) { int s; waitpid(p, &s, 0); } else { go(RECURSE, 3, 1); _exit(0); }
		break;
	}
	if (how == THROW || how == JUMP)
		abort(); // not reached
	work(2);
	c->number = -1; // what c points to has changed
	if (how == TAIL)
		return last(number);
	returned++;
	return number;
}

static void on_signal(int) { go(RECURSE, 2, 5); }

static ucontext_t mains[2];
static void coroutine(int n)
{
	for (int i = 0; i < rounds; i++)
		go(YIELD, i % 4, n);
}

static void coroutines()
{
	// Two stacks whose calls are in progress at the same time, and end in any order.
	static char stacks[2][1 << 16];
	ucontext_t back, co[2];
	for (int n = 0; n < 2; n++) {
		getcontext(&co[n]);
		co[n].uc_stack.ss_sp = stacks[n], co[n].uc_stack.ss_size = sizeof stacks[n], co[n].uc_link = &back;
		makecontext(&co[n], (void (*)())coroutine, 1, n);
	}
	for (int i = 0; i < 2 * rounds; i++) {
		int n = i % 2;
		here = &co[n], other = &back;
		swapcontext(&back, &co[n]);
	}
	for (int n = 0; n < 2; n++) { // to their ends
		here = &co[n], other = &back;
		swapcontext(&back, &co[n]);
	}
}

static void *thread(void *)
{
	stack_t st = {};
	st.ss_size = 1 << 16;
	st.ss_sp = mmap(0, st.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&st, 0);
	for (int i = 0; i < rounds; i++) {
		go(RETURN, 0, i);
		go(RECURSE, 10 + i % 7, i);
		try { go(THROW, 100, i); } catch (long) { left += 101; }
		if (!setjmp(target)) go(JUMP, 20, i); else left += 21;
		go(SIGNAL, 3, i);
		go(TAIL, 2, i);
	}
	return 0;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : 10;
	int forks = argc > 2 ? atoi(argv[2]) : 1;
	struct sigaction sa = {};
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, 0);
	pthread_t t[4];
	for (auto &x : t) pthread_create(&x, 0, thread, 0);
	coroutines();
	for (int i = 0; i < forks; i++) go(FORK, 2, 1);
	for (auto &x : t) pthread_join(x, 0);
	printf("%ld calls, %ld returned, %ld left\n", numbers.load(), returned.load(), left.load());
	return numbers != returned + left;
}
