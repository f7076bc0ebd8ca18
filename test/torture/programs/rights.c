/* Lives that give up rights, and those of debuggers. */
#include "life.h"
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/user.h>
#include <time.h>

static void rest(void)
{
	for (int i = 0; i < 40; i++)
		work(i);
}

/* Allows write, exit and little else; other calls are handled by act. */
static int filtered(unsigned act)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, act),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof f / sizeof *f, f };

	say("before", quiet_work(1));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog))
		return 90;
	rest();
	say("done", 1);
	return 0;
}

static int seccomp_errno(void)
{
	int r = filtered(SECCOMP_RET_ERRNO | EPERM);

	say("getppid", syscall(SYS_getppid));
	return r;
}

static int seccomp_kills(void) { return filtered(SECCOMP_RET_KILL_PROCESS); }

static int seccomp_dies(void)
{
	filtered(SECCOMP_RET_KILL_PROCESS);
	say_steps();
	syscall(SYS_getppid);
	return 97;
}

static volatile int sys_seen;
static void on_sys(int sig, siginfo_t *info, void *ctx)
{
	(void)sig, (void)ctx;
	sys_seen += info->si_syscall == SYS_getppid;
}

static int seccomp_traps(void)
{
	struct sigaction a = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &a, NULL);
	int r = filtered(SECCOMP_RET_TRAP);
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	say("seen", sys_seen);
	return r;
}

static int seccomp_strict(void)
{
	printf("before\n");
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 90;
	rest();
	char b[40];
	syscall(SYS_write, 1, b, snprintf(b, sizeof b, "steps %ld\n", steps));
	syscall(SYS_exit, 6);
	return 97;
}

static int no_rdtsc(void)
{
	say("prctl", prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	rest();
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	return 0;
}

static int undumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	rest();
	say("dumpable", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	return 0;
}

static int drops_user(void)
{
	say("groups", setgroups(0, NULL));
	say("gid", setresgid(65534, 65534, 65534));
	say("uid", setresuid(65534, 65534, 65534));
	rest();
	say("root again", setuid(0));
	return 0;
}

static int drops_user_threads(void);
static void *thread_rest(void *arg)
{
	rest();
	return arg;
}

static int drops_user_threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread_rest, NULL);
	say("uid", setresuid(65534, 65534, 65534)); /* a signal to every thread, in glibc */
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	rest();
	return 0;
}

static int unshares(void)
{
	say("unshare", unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
	say("chroot", chroot("/proc/self/fdinfo"));
	say("chdir", chdir("/"));
	rest();
	return 0;
}

static int new_user(void)
{
	say("unshare", unshare(CLONE_NEWUSER));
	rest();
	return 0;
}

static int closes_all(void)
{
	work(1);
	say("closed", syscall(SYS_close_range, 3, ~0U, 0));
	rest();
	return 0;
}

static int limits(void)
{
	struct rlimit one = { 4, 4 }, none = { 0, 0 };

	setrlimit(RLIMIT_NOFILE, &one);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_MEMLOCK, &none);
	setrlimit(RLIMIT_NPROC, &none);
	setrlimit(RLIMIT_SIGPENDING, &none);
	rest();
	return 0;
}

static int little_space(void)
{
	struct rlimit r = { 1 << 20, 1 << 20 };

	work(1);
	setrlimit(RLIMIT_AS, &r);
	setrlimit(RLIMIT_DATA, &r);
	rest();
	say("no memory", malloc(16 << 20) == NULL);
	return 0;
}

static int no_exec_gain(void)
{
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
	(void)prctl(PR_SET_MDWE, 1, 0, 0, 0); /* since Linux 6.3 */
	rest();
	return 0;
}

/* A debugger and its program, below jalon. */
static int debugs(void)
{
	for (int i = 0; i < 3; i++) {
		int st;
		long stops = 0;

		work(i);
		pid_t pid = fork();
		if (!pid) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			raise(SIGSTOP);
			quiet_work(i);
			_exit(quiet_work(i) & 0x7f);
		}
		if (waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
			return 91;
		for (; stops < 100; stops++) {
			struct user_regs_struct r;
			if (ptrace(PTRACE_GETREGS, pid, 0, &r) || ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
				break;
		}
		say("steps made", stops);
		ptrace(PTRACE_CONT, pid, 0, 0);
		say("status", status_of(pid) == (quiet_work(i) & 0x7f));
	}
	return 0;
}

static int debugs_breakpoint(void)
{
	for (int i = 0; i < 3; i++) {
		int st;
		long hits = 0;
		struct user_regs_struct r;

		work(i);
		pid_t pid = fork();
		if (!pid) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			raise(SIGSTOP);
			quiet_work(i);
			_exit(quiet_work(i) & 0x7f);
		}
		waitpid(pid, &st, 0);
		long word = ptrace(PTRACE_PEEKTEXT, pid, quiet, 0);
		ptrace(PTRACE_POKETEXT, pid, quiet, (word & ~0xffL) | 0xcc);
		ptrace(PTRACE_CONT, pid, 0, 0);
		while (waitpid(pid, &st, 0) == pid && WIFSTOPPED(st)) {
			if (WSTOPSIG(st) != SIGTRAP)
				return 92;
			hits++;
			ptrace(PTRACE_GETREGS, pid, 0, &r);
			r.rip--;
			ptrace(PTRACE_SETREGS, pid, 0, &r);
			ptrace(PTRACE_POKETEXT, pid, quiet, word);
			ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
			waitpid(pid, &st, 0);
			ptrace(PTRACE_POKETEXT, pid, quiet, (word & ~0xffL) | 0xcc);
			ptrace(PTRACE_CONT, pid, 0, 0);
		}
		say("hits", hits);
		say("status", WEXITSTATUS(st) == (quiet_work(i) & 0x7f));
	}
	return 0;
}

static int clocks(void)
{
	struct timespec a, b;
	long bad = 0;

	for (int i = 0; i < 200; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		work(i);
		clock_gettime(CLOCK_MONOTONIC, &b);
		bad += a.tv_sec * 1000000000 + a.tv_nsec > b.tv_sec * 1000000000 + b.tv_nsec;
	}
	say("bad", bad);
	return 0;
}

static int waits(void)
{
	/* system calls that a stop interrupts are made again */
	struct timespec ts = { 0, 3000000 };

	for (int i = 0; i < 20; i++) {
		work(i);
		say("nanosleep", nanosleep(&ts, NULL));
		say("poll", poll(NULL, 0, 2));
	}
	return 0;
}

static int pins(void)
{
	cpu_set_t set;

	for (int i = 0; i < 20; i++) {
		CPU_ZERO(&set);
		CPU_SET(i % sysconf(_SC_NPROCESSORS_ONLN), &set);
		sched_setaffinity(0, sizeof set, &set);
		work(i);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "seccomp-errno", seccomp_errno }, { "seccomp-kills", seccomp_kills }, { "seccomp-dies", seccomp_dies }, { "seccomp-traps", seccomp_traps },
		{ "seccomp-strict", seccomp_strict }, { "no-rdtsc", no_rdtsc }, { "undumpable", undumpable }, { "drops-user", drops_user },
		{ "drops-user-threads", drops_user_threads }, { "unshares", unshares }, { "new-user", new_user }, { "closes-all", closes_all },
		{ "limits", limits }, { "little-space", little_space }, { "no-exec-gain", no_exec_gain }, { "debugs", debugs },
		{ "debugs-breakpoint", debugs_breakpoint }, { "clocks", clocks }, { "waits", waits }, { "pins", pins }, { 0 },
	};

	return lead(argc, argv, lives);
}
