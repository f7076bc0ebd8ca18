/*
 * checked.c with additional load: timers of 1 kHz in every thread, whose handlers run traced
 * functions too, and threads that sleep in system calls and check their results:
 * timers THREADS.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static void *timed(void *arg);
#define pthread_create(t, a, f, x) (pthread_create)(t, a, timed, x)
#define main checked_main
#include "checked.c"
#undef main
#undef pthread_create

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

static void on_signal(int sig, siginfo_t *info, void *ctx)
{
	int saved = errno;

	expect(leaf(sig, 3) == 3L * sig - 3);
	expect(tight(2) == 2 && mixed(2.5, 4, 8.0f) == 12.0);
	errno = saved;
}

static void each(clockid_t clock, int sig, long ns)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	struct itimerspec when = { { 0, ns }, { 0, ns } };
	timer_t timer;

	ev._sigev_un._tid = syscall(SYS_gettid);
	if (timer_create(clock, &ev, &timer) || timer_settime(timer, 0, &when, NULL))
		_exit(3);
}

static void own_stack(void)
{
	stack_t s = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };

	if (sigaltstack(&s, NULL))
		_exit(4);
}

static void *timed(void *arg)
{
	own_stack();
	each(CLOCK_MONOTONIC, SIGRTMIN + (long)arg % 2, 1000000);
	return work(arg);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Interrupted sleeps must return the remaining time. */
static void *sleeps(void *arg)
{
	each(CLOCK_MONOTONIC, SIGRTMIN, 900000);
	while (!atomic_load(&stop)) {
		struct timespec t = { 0, 3000000 };
		int64_t from = now();
		int r;

		while ((r = nanosleep(&t, &t)) && errno == EINTR)
			;
		expect(r == 0 && now() - from >= 3000000);
	}
	return NULL;
}

static void *polls(void *arg)
{
	while (!atomic_load(&stop)) {
		int64_t from = now();
		int r = poll(NULL, 0, 2);

		expect(r == 0 ? now() - from >= 2000000 : r == -1 && errno == EINTR);
	}
	return NULL;
}

static _Atomic uint32_t word;

/* wakes and waits hand numbers to each other through one word. */
static void *waits(void *arg)
{
	uint32_t mine = (long)arg;

	while (!atomic_load(&stop)) {
		uint32_t v = atomic_load(&word);

		if ((v & 1) == mine) {
			atomic_store(&word, v + 1);
			syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX);
			continue;
		}
		struct timespec limit = { 0, 50000000 };
		long r = syscall(SYS_futex, &word, FUTEX_WAIT, v, &limit);

		expect(r == 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT);
	}
	return NULL;
}

static int ends[2];

/* Writes without SA_RESTART may be interrupted, but nothing is lost or doubled. */
static void *gives(void *arg)
{
	each(CLOCK_MONOTONIC, SIGRTMIN, 1100000);
	for (uint64_t n = 0; !atomic_load(&stop); n++) {
		ssize_t r;

		while ((r = write(ends[1], &n, sizeof n)) == -1 && errno == EINTR)
			;
		expect(r == sizeof n);
		if (n % 64 == 0)
			usleep(300);
	}
	close(ends[1]);
	return NULL;
}

static void *takes(void *arg)
{
	for (uint64_t n = 0, got;; n++) {
		ssize_t r;

		while ((r = read(ends[0], &got, sizeof got)) == -1 && errno == EINTR)
			;
		if (r == 0)
			return NULL;
		expect(r == sizeof got && got == n);
	}
}

int main(int argc, char **argv)
{
	static void *(*const list[])(void *) = { sleeps, polls, waits, waits, gives, takes };
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	struct itimerval tick = { { 0, 1000 }, { 0, 1000 } };
	pthread_t t[6];

	own_stack();
	sigaction(SIGALRM, &act, NULL);
	sigaction(SIGRTMIN + 1, &act, NULL);
	act.sa_flags = SA_SIGINFO;
	sigaction(SIGRTMIN, &act, NULL);
	if (pipe(ends) || setitimer(ITIMER_REAL, &tick, NULL))
		return 5;
	for (long i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, list[i], (void *)(i & 1));
	int r = checked_main(argc, argv);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	return r || bad;
}
