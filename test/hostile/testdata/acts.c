// Programs that are hard to trace, one for each mode. Each calls work all the time in
// its first thread, prints "ready", and misbehaves in other threads.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char **args;
static volatile long sum;

__attribute__((noinline)) long work(long n)
{
	__asm__ volatile("" ::: "memory");
	return n * 3 + 1;
}

static void *nothing(void *arg) { return arg; }

// threads: created and ended as fast as possible.
static void *threads(void *arg)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		pthread_t t;
		pthread_create(&t, &attr, nothing, arg);
	}
	return arg;
}

// named: so, and each has a name that steers a terminal.
static void *rename_and_work(void *arg)
{
	char name[16];
	snprintf(name, sizeof name, "\x1b]0;%ld\n\x07", (long)syscall(SYS_gettid) % 100000);
	prctl(PR_SET_NAME, name);
	sum += work((long)arg);
	return arg;
}

static void *named(void *arg)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		pthread_t t;
		pthread_create(&t, &attr, rename_and_work, arg);
	}
	return arg;
}

// forks: children that end, fork and call, at most a few at a time.
static void *forks(void *arg)
{
	for (;;) {
		pid_t c = fork();
		if (c == 0) {
			if (fork() == 0)
				sum += work(2);
			_exit(0);
		}
		while (waitpid(-1, NULL, c < 0 ? 0 : WNOHANG) > 0)
			;
	}
	return arg;
}

// The mappings that are neither of a file nor the stack: a tracer's memory is among
// them.
static int foreign(char *line, unsigned long *lo, unsigned long *hi)
{
	char prot[5];
	if (sscanf(line, "%lx-%lx %4s", lo, hi, prot) != 3)
		return 0;
	return strstr(line, "/memfd:") ||
	       (!strchr(line, '/') && !strchr(line, '[') && strchr(prot, 'x'));
}

static void *spoil(void *arg)
{
	const char *how = arg;
	for (int rounds = 0;; rounds++) {
		FILE *f = fopen("/proc/self/maps", "r");
		char line[8192];
		unsigned long lo, hi, list[256][2];
		int n = 0;
		while (f && fgets(line, sizeof line, f) && n < 256)
			if (foreign(line, &lo, &hi))
				list[n][0] = lo, list[n++][1] = hi;
		if (f)
			fclose(f);
		for (int i = 0; i < n; i++) {
			void *p = (void *)list[i][0];
			size_t len = list[i][1] - list[i][0];
			if (!strcmp(how, "munmap"))
				munmap(p, len);
			else if (!strcmp(how, "mprotect"))
				mprotect(p, len, rounds & 1 ? PROT_READ : PROT_READ | PROT_WRITE | PROT_EXEC);
			else if (!strcmp(how, "mremap"))
				mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(0x100000000000 + ((unsigned long)rand() << 12)));
			else if (!strcmp(how, "zero"))
				mmap(p, len, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		}
	}
	return arg;
}

static void *closes(void *arg)
{
	for (;;)
		for (int fd = 3; fd < 40; fd++)
			close(fd);
	return arg;
}

static void *execs(void *arg)
{
	usleep(args[2] ? atoi(args[2]) : 0);
	execv(args[0], args);
	return arg;
}

// stuckexec: an exec that never gets on. It waits for a thread that has ended and is traced by
// a process which never looks at it.
static volatile int watched;

static void *watched_thread(void *arg)
{
	watched = syscall(SYS_gettid);
	for (;;)
		pause();
	return arg;
}

static void stuckexec(void)
{
	pthread_t t;
	int ready[2];
	char c;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	pthread_create(&t, NULL, watched_thread, NULL);
	while (!watched)
		usleep(100);
	if (pipe(ready) < 0)
		exit(1);
	if (fork() == 0) {
		if (ptrace(PTRACE_SEIZE, watched, 0, 0) < 0)
			perror("seize");
		if (write(ready[1], "", 1) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	if (write(1, "ready\n", 6) < 0) // before the exec ends this thread
		exit(1);
	pthread_create(&t, NULL, execs, NULL);
	for (;;)
		pause();
}

// filter answers memfd_create, mmap, munmap, close, sigaction and memory calls with ret.
static int filter(unsigned ret, unsigned flags)
{
	static const int calls[] = {SYS_memfd_create, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_rt_sigaction, SYS_close};
	struct sock_filter f[32];
	int n = 0, many = sizeof calls / sizeof *calls;
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < many; i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], many - i, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, ret);
	struct sock_fprog prog = {n, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static void *notified(void *arg)
{
	prctl(PR_SET_NAME, "notified");
	for (;;)
		pause();
	return arg;
}

static void storm(int kill9)
{
	pid_t parent = getpid();
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (kill9) {
			usleep(rand() % 60000);
			kill(parent, SIGKILL);
			_exit(0);
		}
		for (;;) {
			kill(parent, SIGSTOP);
			kill(parent, SIGCONT);
			kill(parent, SIGWINCH);
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t t;
	const char *mode = argc > 1 ? argv[1] : "";
	args = argv;
	srand(getpid());
	static const struct { const char *name; void *(*run)(void *); } side[] = {
		{"threads", threads}, {"named", named}, {"forks", forks}, {"closes", closes}, {"execs", execs},
		{"munmap", spoil}, {"mprotect", spoil}, {"mremap", spoil}, {"zero", spoil},
	};
	for (unsigned i = 0; i < sizeof side / sizeof *side; i++)
		if (!strcmp(mode, side[i].name))
			pthread_create(&t, NULL, side[i].run, (void *)mode);
	if (!strcmp(mode, "notify") && filter(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER) < 0)
		perror("seccomp");
	if (!strcmp(mode, "rettrace"))
		filter(SECCOMP_RET_TRACE, 0);
	if (!strcmp(mode, "errno"))
		filter(SECCOMP_RET_ERRNO | EPERM, 0);
	if (!strcmp(mode, "trap"))
		filter(SECCOMP_RET_TRAP, 0);
	if (!strcmp(mode, "kill"))
		filter(SECCOMP_RET_KILL_PROCESS, 0);
	if (!strcmp(mode, "dumpable"))
		prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(mode, "ptracer"))
		prctl(PR_SET_PTRACER, 1);
	if (!strcmp(mode, "notifythread"))
		pthread_create(&t, NULL, notified, NULL);
	if (!strcmp(mode, "storm") || !strcmp(mode, "kill9"))
		storm(!strcmp(mode, "kill9"));
	if (!strcmp(mode, "maps"))
		for (long i = 0; i < 30000; i++) // each makes two mappings
			mmap((void *)(0x200000000000 + i * 8192), 4096, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			mmap((void *)(0x200000000000 + i * 8192 + 4096), 4096, PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (!strcmp(mode, "idle") || !strcmp(mode, "execmany")) {
		static pthread_t idle;
		for (int i = 0; i < 300; i++) {
			pthread_attr_t attr;
			pthread_attr_init(&attr);
			pthread_attr_setstacksize(&attr, 65536);
			pthread_create(&idle, &attr, notified, NULL);
		}
	}
	if (!strcmp(mode, "stuckexec"))
		stuckexec();
	if (!strcmp(mode, "execmany"))
		pthread_create(&t, NULL, execs, NULL);
	if (write(1, "ready\n", 6) < 0)
		return 1;
	for (long n = 0;; n++)
		sum += work(n);
}
