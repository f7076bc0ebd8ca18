/* The program for tests of run control: argv[1] selects the part. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int watched, other;
volatile int usr1, usr2, segv;
int bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
double wide[4] = { 1, 2, 3, 4 };
static sigjmp_buf back;

__attribute__((noinline)) int f(int n)
{
	int twice = 2 * n;
	return twice + 1;
}

__attribute__((noinline)) int g(int n)
{
	int a = f(n);
	int b = f(a);
	return a + b;
}

__attribute__((noinline)) void finished(void)
{
	__asm__ volatile("" ::: "memory");
}

static int steps(void)
{
	int sum = 0;
	for (int i = 0; i < 5; i++)
		sum += g(i);
	sum++;
	finished();
	return sum == 81 ? 0 : 1;
}

static int watching(void)
{
	for (int i = 0; i < 6; i++) {
		other = i;
		watched = i / 2;
	}
	other = watched;
	finished();
	return 0;
}

static void on_signal(int sig)
{
	if (sig == SIGSEGV) {
		segv++;
		siglongjmp(back, 1);
	}
	if (sig == SIGUSR1)
		usr1++;
	if (sig == SIGUSR2)
		usr2++;
}

static int signals(void)
{
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGSEGV, on_signal);
	raise(SIGUSR1);
	raise(SIGUSR2);
	raise(SIGUSR1);
	if (!sigsetjmp(back, 1))
		*(volatile int *)16 = 1;
	printf("usr1 %d usr2 %d segv %d\n", usr1, usr2, segv);
	fflush(stdout);
	finished();
	abort();
}

static int child(void)
{
	watched = 7;
	f(7);
	return 3;
}

static int forks(void)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(child());
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	printf("child %d\n", WEXITSTATUS(status));
	fflush(stdout);
	finished();
	return 0;
}

static int vforks(void)
{
	int status = 0;
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	fflush(stdout);
	finished();
	return 0;
}

static int execs(char *self)
{
	execl(self, self, "steps", NULL);
	return 9;
}

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	g((int)(long)arg);
	pthread_barrier_wait(&barrier);
	return arg;
}

static int threads(void)
{
	pthread_t list[3];

	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 3; i++)
		pthread_create(&list[i], NULL, thread, (void *)(i + 1));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		pthread_join(list[i], NULL);
	finished();
	return 0;
}

static void *spin(void *arg)
{
	while (!watched)
		__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
	return NULL;
}

static int spins(void)
{
	pthread_t list[2];
	static int counts[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&list[i], NULL, spin, &counts[i]);
	while (!__atomic_load_n(&counts[0], __ATOMIC_RELAXED) || !__atomic_load_n(&counts[1], __ATOMIC_RELAXED))
		; /* all of them are in spin now */
	printf("spinning\n");
	fflush(stdout);
	spin(&other);
	for (int i = 0; i < 2; i++)
		pthread_join(list[i], NULL);
	printf("all have ended\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "steps";

	if (!strcmp(part, "steps"))
		return steps();
	if (!strcmp(part, "watch"))
		return watching();
	if (!strcmp(part, "signals"))
		return signals();
	if (!strcmp(part, "forks"))
		return forks();
	if (!strcmp(part, "vforks"))
		return vforks();
	if (!strcmp(part, "execs"))
		return execs(argv[0]);
	if (!strcmp(part, "threads"))
		return threads();
	if (!strcmp(part, "spins"))
		return spins();
	return 99;
}
