/* Leaves functions in every way but by an exception. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline)) static

static jmp_buf back;
static volatile int calls;

FUNCTION int jumps(int n) {
	if (n % 3 == 0) longjmp(back, 1);
	return n + 1;
}

FUNCTION int deep(int n) {
	int below = n ? deep(n - 1) : 0;
	calls++;
	return below + 1;
}

FUNCTION int leaf(int n) { calls++; return n + 2; }

FUNCTION int tail(int n) { return leaf(n * 2); }

static ucontext_t mine, coroutine, others;

FUNCTION int moves(int n) {
	swapcontext(&coroutine, &mine);
	calls++;
	return n;
}

static void run(void) { moves(1); setcontext(&others); }

static void *other(void *unused) {
	swapcontext(&others, &coroutine);
	return unused;
}

static int ready[2];

FUNCTION void *sleeps(void *unused) {
	if (write(ready[1], "", 1) == 1) pause();
	return unused;
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t t;
	if (!strcmp(what, "jump"))
		for (volatile int i = 0; i < 9; i++)
			if (!setjmp(back)) calls += jumps(i);
	if (!strcmp(what, "deep")) deep(100);
	for (int i = 0; i < 9; i++) {
		if (!strcmp(what, "leaf")) leaf(i);
		if (!strcmp(what, "tail") && tail(i) != 2 * i + 2) return 1;
	}
	if (!strcmp(what, "move")) {
		static char stack[1 << 16];
		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = stack;
		coroutine.uc_stack.ss_size = sizeof stack;
		makecontext(&coroutine, run, 0);
		swapcontext(&mine, &coroutine);
		pthread_create(&t, 0, other, 0);
		pthread_join(t, 0);
	}
	if (!strcmp(what, "cancel")) {
		void *end;
		char c;
		if (pipe(ready) || pthread_create(&t, 0, sleeps, 0) || read(ready[0], &c, 1) != 1) return 1;
		pthread_cancel(t);
		pthread_join(t, &end);
		if (end != PTHREAD_CANCELED) return 1;
	}
	return 0;
}
