/* Lives with children, clones and exec. */
#include "life.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <linux/sched.h>

extern char **environ;
static char self[4096];

#define ROUNDS 8

static int forks(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		work(i);
		pid_t pid = fork();
		if (!pid)
			_exit(quiet_work(i) & 0x7f);
		say("fork", status_of(pid) == (quiet_work(i) & 0x7f));
	}
	return 3;
}

static int forks_many(void)
{
	pid_t pid[30];
	int ok = 0;

	for (int i = 0; i < 30; i++) {
		work(i);
		if (!(pid[i] = fork()))
			_exit(quiet_work(i) & 0x7f);
	}
	for (int i = 0; i < 30; i++)
		ok += status_of(pid[i]) == (quiet_work(i) & 0x7f);
	say("ok", ok);
	return 0;
}

static int forks_deep(void)
{
	int depth = 0;

	work(1);
	for (; depth < 6; depth++) {
		pid_t pid = fork();
		if (pid) {
			int st = status_of(pid);
			if (!depth) {
				say("deep", st);
				return 0;
			}
			_exit(st + (quiet_work(depth) & 1));
		}
	}
	_exit(quiet_work(7) & 7);
}

static int vforks(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		work(i);
		pid_t pid = vfork();
		if (!pid)
			_exit(quiet_work(i) & 0x7f);
		say("vfork", status_of(pid) == (quiet_work(i) & 0x7f));
	}
	return 0;
}

static int vfork_exec(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		work(i);
		pid_t pid = vfork();
		if (!pid) {
			execl(self, self, "after-exec", NULL);
			_exit(97);
		}
		say("status", status_of(pid));
	}
	return 0;
}

static int spawns(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *args[] = { self, "after-exec", NULL };
		pid_t pid;
		posix_spawnattr_t attr;
		sigset_t set;

		work(i);
		posix_spawnattr_init(&attr);
		sigfillset(&set);
		posix_spawnattr_setsigdefault(&attr, &set);
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
		int err = posix_spawn(&pid, self, NULL, &attr, args, environ);
		say("status", status_of(pid));
		say("spawn", err);
	}
	say("spawn of nothing", posix_spawnp((pid_t[1]) { 0 }, "/no/such", NULL, NULL, (char *[]) { "x", NULL }, environ));
	return 0;
}

static int systems(void)
{
	for (int i = 0; i < 3; i++) {
		work(i);
		say("system", WEXITSTATUS(system("exit 7")));
		FILE *f = popen("echo from a pipe", "r");
		char b[100] = "";
		say("read", fgets(b, sizeof b, f) != NULL && !strcmp(b, "from a pipe\n"));
		say("pclose", pclose(f));
	}
	return 0;
}

static char stack[1 << 16] __attribute__((aligned(16)));

static int clone_main(void *arg)
{
	return quiet_work((long)arg) & 0x7f;
}

static int by_clone(int flags)
{
	int ok = 0;

	for (long i = 0; i < ROUNDS; i++) {
		work(i);
		pid_t pid = clone(clone_main, stack + sizeof stack, flags, (void *)i);
		if (pid < 0) {
			say("clone fails", errno);
			continue;
		}
		ok += status_of(pid) == (quiet_work(i) & 0x7f);
		work(i);
	}
	say("ok", ok);
	return 0;
}

static int clone_vm(void) { return by_clone(CLONE_VM | SIGCHLD); }
static int clone_vm_silent(void) { return by_clone(CLONE_VM); }
static int clone_vm_files(void) { return by_clone(CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | SIGCHLD); }
static int clone_vm_vfork(void) { return by_clone(CLONE_VM | CLONE_VFORK | SIGCHLD); }
static int clone_files(void) { return by_clone(CLONE_FILES | SIGCHLD); }
static int clone_fs_io(void) { return by_clone(CLONE_FS | CLONE_IO | CLONE_SYSVSEM | SIGCHLD); }
static int clone_untraced(void) { return by_clone(CLONE_UNTRACED | SIGCHLD); }
static int clone_vm_untraced(void) { return by_clone(CLONE_VM | CLONE_UNTRACED | SIGCHLD); }
static int clone_usr1(void) { signal(SIGUSR1, SIG_IGN); return by_clone(SIGUSR1); }
static int clone_ptrace(void) { return by_clone(CLONE_PTRACE | SIGCHLD); }
static int clone_newpid(void) { return by_clone(CLONE_NEWPID | SIGCHLD); }
static int clone_newns(void) { return by_clone(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD); }

static int by_clone3(unsigned long long flags)
{
	int ok = 0;

	for (long i = 0; i < ROUNDS; i++) {
		struct clone_args a = { .flags = flags, .exit_signal = SIGCHLD };
		work(i);
		pid_t pid = syscall(SYS_clone3, &a, sizeof a);
		if (!pid)
			_exit(quiet_work(i) & 0x7f);
		ok += status_of(pid) == (quiet_work(i) & 0x7f);
	}
	say("ok", ok);
	return 0;
}

static int clone3_plain(void) { return by_clone3(0); }
static int clone3_vfork(void) { return by_clone3(CLONE_VFORK); }
static int clone3_clear(void) { return by_clone3(CLONE_CLEAR_SIGHAND); }

static int clone_parent(void)
{
	/* its parent is our parent: the pipe reports its end */
	int p[2];
	char c = 0;

	for (int i = 0; i < ROUNDS; i++) {
		work(i);
		if (pipe(p))
			return 90;
		if (!syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) {
			c = quiet_work(i);
			_exit(write(p[1], &c, 1) != 1);
		}
		close(p[1]);
		say("read", read(p[0], &c, 1) == 1 && c == (char)quiet_work(i));
		close(p[0]);
	}
	return 0;
}

static int exec_self(void)
{
	work(1);
	say_steps();
	execl(self, self, "after-exec", NULL);
	return 97;
}

static void *exec_thread(void *arg)
{
	work(2);
	say_steps();
	execl(self, self, "after-exec", NULL);
	return arg;
}

static void *busy_thread(void *arg)
{
	for (;;)
		quiet_work((long)arg);
	return NULL;
}

static int exec_from_thread(void)
{
	pthread_t t;

	for (long i = 0; i < 3; i++)
		pthread_create(&t, NULL, busy_thread, (void *)i);
	pthread_create(&t, NULL, exec_thread, NULL);
	pthread_join(t, NULL);
	return 97;
}

static int exec_fails(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		work(i);
		execl("/no/such/file", "x", NULL);
		say("exec", errno);
		execl("/etc/passwd", "x", NULL);
		say("exec", errno);
	}
	return 0;
}

static void *fork_thread(void *arg)
{
	long i = (long)arg;

	for (int n = 0; n < 4; n++) {
		work(i);
		pid_t pid = fork();
		if (!pid)
			_exit(quiet_work(i) & 0x7f);
		if (status_of(pid) != (quiet_work(i) & 0x7f))
			return (void *)1;
	}
	return NULL;
}

static int fork_in_threads(void)
{
	pthread_t t[6];
	long bad = 0;
	void *r;

	for (long i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, fork_thread, (void *)i);
	for (int i = 0; i < 6; i++) {
		pthread_join(t[i], &r);
		bad += (long)r;
	}
	say("bad", bad);
	return 0;
}

static void *late_thread(void *arg)
{
	usleep(20000);
	work(3);
	say_steps();
	exit(41);
	return arg;
}

static int leader_ends(void)
{
	pthread_t t;

	work(1);
	pthread_create(&t, NULL, late_thread, NULL);
	pthread_exit(NULL);
}

static int exit_in_thread(void)
{
	pthread_t t;

	for (long i = 0; i < 3; i++)
		pthread_create(&t, NULL, busy_thread, (void *)i);
	pthread_create(&t, NULL, late_thread, NULL);
	pause();
	return 97;
}

static int daemonises(void)
{
	int p[2];
	char b[8] = "";

	work(1);
	if (pipe(p))
		return 90;
	pid_t pid = fork();
	if (!pid) {
		setsid();
		if (fork())
			_exit(0);
		quiet_work(9);
		_exit(write(p[1], "done", 4) != 4);
	}
	say("status", status_of(pid));
	close(p[1]);
	say("read", read(p[0], b, 4));
	work(2);
	return 0;
}

static int reaps_none(void)
{
	int st;

	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < ROUNDS; i++) {
		work(i);
		pid_t pid = fork();
		if (!pid)
			_exit(quiet_work(i) & 0x7f);
		say("wait", waitpid(pid, &st, 0) == -1 && errno == ECHILD);
	}
	return 0;
}

static volatile sig_atomic_t reaped;
static void on_child(int sig)
{
	(void)sig;
	while (waitpid(-1, NULL, WNOHANG) > 0) {
		reaped++;
		quiet_work(2);
	}
}

static int reaps_in_handler(void)
{
	sigset_t set, old;

	signal(SIGCHLD, on_child);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	for (int i = 0; i < 20; i++) {
		work(i);
		if (!fork())
			_exit(0);
	}
	while (reaped < 20)
		sigsuspend(&old);
	say("reaped", reaped);
	return 0;
}

static int stops_child(void)
{
	for (int i = 0; i < 4; i++) {
		int st;
		pid_t pid = fork();

		if (!pid)
			for (;;)
				quiet_work(i);
		work(i);
		kill(pid, SIGSTOP);
		say("stopped", waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st));
		kill(pid, SIGCONT);
		say("goes on", waitpid(pid, &st, WCONTINUED) == pid && WIFCONTINUED(st));
		kill(pid, SIGTERM);
		say("status", status_of(pid));
	}
	return 0;
}

static int is_stopped(void)
{
	for (int i = 0; i < 4; i++) {
		int p[2];
		char c;

		work(i);
		if (pipe(p))
			return 90;
		pid_t me = getpid(), pid = fork();
		if (!pid) {
			/* until it has reported that it continues: the first may arrive before the stop */
			struct pollfd f = { p[0], POLLIN, 0 };
			do
				kill(me, SIGCONT);
			while (!poll(&f, 1, 2));
			_exit(read(p[0], &c, 1) != 1);
		}
		kill(me, SIGSTOP);
		say("continued", write(p[1], "c", 1));
		say("status", status_of(pid));
		close(p[0]);
		close(p[1]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "forks", forks }, { "forks-many", forks_many }, { "forks-deep", forks_deep }, { "vforks", vforks }, { "vfork-exec", vfork_exec },
		{ "spawns", spawns }, { "systems", systems }, { "clone-vm", clone_vm }, { "clone-vm-silent", clone_vm_silent },
		{ "clone-vm-files", clone_vm_files }, { "clone-vm-vfork", clone_vm_vfork }, { "clone-files", clone_files }, { "clone-fs-io", clone_fs_io },
		{ "clone-untraced", clone_untraced }, { "clone-vm-untraced", clone_vm_untraced }, { "clone-usr1", clone_usr1 },
		{ "clone-ptrace", clone_ptrace }, { "clone-newpid", clone_newpid }, { "clone-newns", clone_newns },
		{ "clone3", clone3_plain }, { "clone3-vfork", clone3_vfork }, { "clone3-clear", clone3_clear }, { "clone-parent", clone_parent },
		{ "exec", exec_self }, { "exec-from-thread", exec_from_thread }, { "exec-fails", exec_fails },
		{ "fork-in-threads", fork_in_threads }, { "leader-ends", leader_ends }, { "exit-in-thread", exit_in_thread },
		{ "daemonises", daemonises }, { "reaps-none", reaps_none }, { "reaps-in-handler", reaps_in_handler },
		{ "stops-child", stops_child }, { "is-stopped", is_stopped }, { 0 },
	};

	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return 96;
	return lead(argc, argv, lives);
}
