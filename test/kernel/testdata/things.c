/* Performs known actions, so that a trace can be compared with them. Each
   argument is a deed; "wait" waits for a line on standard input. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void mark(int which, int who) { syscall(SYS_getpriority, which, who); }

static void names(void) {
	for (int i = 0; i < 10; i++) {
		char name[16];
		snprintf(name, sizeof name, "name%d", i);
		prctl(PR_SET_NAME, name);
		mark(i, 1000 + i);
	}
}

static void files(void) {
	const int flags[] = {O_RDONLY, O_WRONLY | O_CREAT, O_RDWR | O_CREAT | O_TRUNC, O_WRONLY | O_APPEND, O_RDONLY | O_DIRECTORY};
	for (int i = 0; i < 20; i++) {
		char path[64];
		snprintf(path, sizeof path, "./file%02d", i);
		int fd = open(path, flags[i % 5], 0600);
		if (fd >= 0) {
			if (write(fd, path, i) < 0) mark(-1, i);
			close(fd);
		}
		unlink(path);
	}
	mkdir("./dir", 0700);
	rmdir("./dir");
	open((const char *)16, O_RDONLY);
}

static void memory(void) {
	for (int i = 1; i <= 8; i++) {
		size_t size = i * 4096;
		char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, i, size);
		mprotect(p, size, PROT_READ);
		munmap(p, size);
	}
}

static void on_signal(int sig, siginfo_t *si, void *uc) { (void)sig, (void)si, (void)uc; }

static void signals(void) {
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	const int list[] = {SIGUSR1, SIGUSR2, SIGRTMIN, SIGRTMIN + 3, SIGWINCH};
	for (int i = 0; i < 5; i++) {
		sigaction(list[i], &sa, 0);
		kill(getpid(), list[i]);
		syscall(SYS_tgkill, getpid(), getpid(), list[i]);
	}
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 77});
}

static void children(void) {
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0) _exit(i);
		waitpid(pid, 0, 0);
	}
}

static void sockets(void) {
	int pair[2];
	char buf[64];
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	if (write(pair[0], "hello", 5) != 5 || read(pair[1], buf, sizeof buf) != 5) mark(-1, 0);
	close(pair[0]);
	close(pair[1]);
	int srv = socket(AF_INET, SOCK_STREAM, 0), cli = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	bind(srv, (struct sockaddr *)&at, len);
	listen(srv, 1);
	getsockname(srv, (struct sockaddr *)&at, &len);
	connect(cli, (struct sockaddr *)&at, len);
	int con = accept(srv, 0, 0);
	if (send(cli, "12345678", 8, 0) != 8 || recv(con, buf, sizeof buf, 0) != 8) mark(-1, 1);
	close(con);
	close(cli);
	close(srv);
}

static void timers(void) {
	for (int i = 1; i <= 5; i++) {
		struct itimerval it = {.it_value.tv_usec = 1000 * i};
		setitimer(ITIMER_REAL, &it, 0);
		it.it_value.tv_usec = 0;
		setitimer(ITIMER_REAL, &it, 0);
		usleep(500 * i);
	}
}

static void sleeps(void) {
	for (int i = 0; i < 10; i++) usleep(1000);
}

static inline __attribute__((always_inline)) void hammered(long i) { syscall(SYS_getpriority, 3, i); }

static void *hammer_one(void *n) {
	for (long i = 0; i < (long)n; i++) hammered(i);
	return 0;
}

static void *rename_one(void *n) {
	char name[16];
	for (long i = 0; i < (long)n; i++) {
		snprintf(name, sizeof name, "r%ld", i % 10);
		prctl(PR_SET_NAME, name);
	}
	return 0;
}

static void four(void *(*one)(void *), long n) {
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, one, (void *)n);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}

int main(int argc, char **argv) {
	const struct { const char *name; void (*f)(void); } deeds[] = {
		{"names", names}, {"files", files}, {"memory", memory}, {"signals", signals},
		{"children", children}, {"sockets", sockets}, {"timers", timers}, {"sleeps", sleeps},
	};
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "wait")) {
			char line[100];
			if (!fgets(line, sizeof line, stdin)) return 99;
		} else if (!strcmp(argv[i], "ready")) {
			printf("ready\n");
			fflush(stdout);
		} else if (!strcmp(argv[i], "begin")) {
			mark(111, 1);
		} else if (!strcmp(argv[i], "end")) {
			mark(111, 2);
		} else if (!strcmp(argv[i], "hammer")) {
			four(hammer_one, atol(argv[++i]));
		} else if (!strcmp(argv[i], "renames")) {
			four(rename_one, atol(argv[++i]));
		} else if (!strcmp(argv[i], "exit")) {
			return atoi(argv[++i]);
		}
		for (unsigned d = 0; d < sizeof deeds / sizeof *deeds; d++)
			if (!strcmp(argv[i], deeds[d].name)) deeds[d].f();
	}
	return 0;
}
