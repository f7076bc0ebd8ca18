// ownsys: system calls of its own become SIGSYS, by seccomp (SECCOMP_RET_TRAP) or by syscall user dispatch, as fast as
// it can make them. Each must reach the handler.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static volatile char selector;
static volatile long handled;

static void on_sys(int sig, siginfo_t *info, void *ctx) {
	ucontext_t *u = ctx;
	selector = 0;
	handled++;
	u->uc_mcontext.gregs[REG_RAX] = 4711;
}

int main(int argc, char **argv) {
	struct sigaction sa = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
	int dispatch = !strcmp(argv[1], "dispatch");
	sigaction(SIGSYS, &sa, NULL);
	if (dispatch) {
		if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector)) return 3;
	} else {
		struct sock_filter f[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog prog = {sizeof f / sizeof *f, f};
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) return 2;
	}
	printf("ready\n");
	fflush(stdout);
	long lost = 0, n = 0;
	struct pollfd in = {0, POLLIN};
	for (;; n++) {
		selector = 1;
		long got = syscall(SYS_getppid);
		selector = 0;
		lost += got != 4711 || handled != n + 1 - lost;
		if (n % 64 == 0 && poll(&in, 1, 0)) break;
	}
	printf("lost %ld\n", lost);
	return 0;
}
