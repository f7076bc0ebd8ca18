// children: processes in every way there is; each must work as ever.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int shared_var;
__attribute__((noinline)) int probed(int x) { return x + 1; }

static int status(pid_t pid) {
	int st = -1;
	if (waitpid(pid, &st, 0) != pid) perror("waitpid");
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}
static int by_fork(void) {
	pid_t p = fork();
	if (!p) _exit(probed(9) + (getppid() == 0));
	return status(p);
}
static int by_vfork(void) {
	pid_t p = vfork();
	if (!p) _exit(probed(10));
	return status(p);
}
static int by_vfork_exec(void) {
	pid_t p = vfork();
	if (!p) {
		execl("/bin/sh", "sh", "-c", "exit 12", (char *)0);
		_exit(99);
	}
	return status(p);
}
static int by_spawn(void) {
	pid_t p;
	char *argv[] = {"sh", "-c", "exit 13", 0};
	if (posix_spawn(&p, "/bin/sh", 0, 0, argv, environ)) return -1;
	return status(p);
}
static int by_system(void) { return WEXITSTATUS(system("exit 14")); }
static int child_vm(void *arg) { shared_var = probed(14); return 15; }
static int by_clone_vm(void) {
	char *stack = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t p = clone(child_vm, stack + (1 << 16), CLONE_VM | SIGCHLD, 0);
	int st = status(p);
	return shared_var == 15 ? st : -1;
}
static int by_clone_nosig(void) {
	pid_t p = syscall(SYS_clone, 0, 0, 0, 0, 0); // no exit signal
	if (!p) _exit(probed(15));
	int st = -1;
	waitpid(p, &st, __WALL);
	return WEXITSTATUS(st);
}
static int by_popen(void) {
	FILE *f = popen("echo 17", "r");
	int n = 0;
	if (fscanf(f, "%d", &n) != 1) n = -1;
	pclose(f);
	return n;
}
static int by_daemon_grandchild(void) {
	int fd[2];
	if (pipe(fd)) return -1;
	pid_t p = fork();
	if (!p) {
		if (!fork()) {
			char c = probed(17);
			_exit(write(fd[1], &c, 1) != 1);
		}
		_exit(0);
	}
	status(p);
	char c = 0;
	return read(fd[0], &c, 1) == 1 ? c : -1;
}
static int by_fork_signal(void) {
	pid_t p = fork();
	if (!p) { probed(1); raise(SIGKILL); }
	return status(p);
}

static struct { const char *name; int (*f)(void); int want; } ways[] = {
	{"fork", by_fork, 10}, {"vfork", by_vfork, 11}, {"vfork+exec", by_vfork_exec, 12}, {"posix_spawn", by_spawn, 13},
	{"system", by_system, 14}, {"clone(VM)", by_clone_vm, 15}, {"clone(0)", by_clone_nosig, 16}, {"popen", by_popen, 17},
	{"grandchild", by_daemon_grandchild, 18}, {"fork+kill", by_fork_signal, 1009},
};
enum { WAYS = sizeof ways / sizeof *ways };
static int rounds;
static int fails;
static void *body(void *arg) {
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < WAYS; i++) {
			int got = ways[i].f();
			if (got != ways[i].want) {
				printf("%s: %d, want %d\n", ways[i].name, got, ways[i].want);
				__atomic_add_fetch(&fails, 1, __ATOMIC_RELAXED);
			}
		}
	return 0;
}
int main(int argc, char **argv) {
	rounds = atoi(argv[1]);
	int n = atoi(argv[2]);
	pthread_t t[16];
	if (n == 1) body(0);
	else {
		for (int i = 0; i < n; i++) pthread_create(&t[i], 0, body, 0);
		for (int i = 0; i < n; i++) pthread_join(t[i], 0);
	}
	printf("fails %d\n", fails);
	return 0;
}
