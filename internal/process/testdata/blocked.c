// blocked MS [restarted]: a thread for each kind of sleep (or only for those that
// the kernel restarts), again and again for MS milliseconds; no sleep may end
// early or with EINTR.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

enum { SLICE = 30 }; // ms
static volatile int stop;
static int pipefd[2], wake[2], sock[2], epfd, sem, msg;
static struct timespec slice = {0, SLICE * 1000000L};
static struct timeval tv = {0, SLICE * 1000};

// Each returns what the call returned; errno is what it should be when it timed out.
static int do_nanosleep(void) { return nanosleep(&slice, 0); }
static int do_clock(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += slice.tv_nsec;
	if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
	return (errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0)) ? -1 : 0;
}
static int do_futex(void) {
	static int word;
	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &slice, 0, 0);
}
static int do_poll(void) { struct pollfd p = {pipefd[0], POLLIN, 0}; return poll(&p, 1, SLICE); }
static int do_ppoll(void) {
	struct pollfd p = {pipefd[0], POLLIN, 0};
	sigset_t set;
	sigemptyset(&set);
	return ppoll(&p, 1, &slice, &set);
}
static int do_select(void) {
	fd_set s;
	FD_ZERO(&s);
	FD_SET(pipefd[0], &s);
	struct timeval t = tv;
	return select(pipefd[0] + 1, &s, 0, 0, &t);
}
static int do_epoll(void) { struct epoll_event e; return epoll_wait(epfd, &e, 1, SLICE); }
static int do_epoll_pwait(void) {
	struct epoll_event e;
	sigset_t set;
	sigemptyset(&set);
	return epoll_pwait(epfd, &e, 1, SLICE, &set);
}
static int do_recv(void) { char c; return recv(sock[0], &c, 1, 0); }
static int do_sockread(void) { char c; return read(sock[0], &c, 1); }
static int do_sem(void) { struct sembuf b = {0, -1, 0}; return semtimedop(sem, &b, 1, &slice); }
static int do_sigwait(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	return sigtimedwait(&set, 0, &slice);
}
static int do_cond(void) {
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += slice.tv_nsec;
	if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
	pthread_mutex_lock(&m);
	int e = pthread_cond_timedwait(&c, &m, &t);
	pthread_mutex_unlock(&m);
	return e ? (errno = e, -1) : 0;
}
// These sleep until they are woken.
static int do_read(void) { char c; return read(wake[0], &c, 1) == 1 ? -2 : -1; }
static int do_msg(void) { struct { long t; char b; } m; return msgrcv(msg, &m, 1, 0, 0) < 0 ? -1 : -2; }

static struct kind { const char *name; int (*f)(void); int want, err, never; } kinds[] = {
	{"nanosleep", do_nanosleep, 0, 0}, {"clock_nanosleep", do_clock, 0, 0}, {"futex", do_futex, -1, ETIMEDOUT},
	{"poll", do_poll, 0, 0}, {"ppoll", do_ppoll, 0, 0}, {"select", do_select, 0, 0},
	{"epoll_wait", do_epoll, 0, 0, 1}, {"epoll_pwait", do_epoll_pwait, 0, 0, 1},
	{"recv", do_recv, -1, EAGAIN, 1}, {"sockread", do_sockread, -1, EAGAIN, 1}, {"semtimedop", do_sem, -1, EAGAIN, 1},
	{"sigtimedwait", do_sigwait, -1, EAGAIN, 1}, {"cond", do_cond, -1, ETIMEDOUT},
	{"read", do_read, -2, 0}, {"msgrcv", do_msg, -2, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };
static long bad[KINDS], early[KINDS], rounds[KINDS];
static int lasterr[KINDS];

static void *body(void *arg) {
	long i = (struct kind *)arg - kinds;
	do { // once at least, however late the thread comes to run
		long t0 = now();
		errno = 0;
		int r = kinds[i].f(), e = errno;
		if (r != kinds[i].want || (r == -1 && e != kinds[i].err)) {
			bad[i]++;
			lasterr[i] = e;
		}
		if (kinds[i].want != -2 && now() - t0 < (SLICE - 1) * 1000000L) early[i]++;
		rounds[i]++;
	} while (!stop);
	return 0;
}

int main(int argc, char **argv) {
	long ms = atol(argv[1]);
	pipe(pipefd) == 0 && pipe(wake) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sock) == 0 ? 0 : exit(2);
	setsockopt(sock[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	epfd = epoll_create1(0);
	struct epoll_event ev = {EPOLLIN, {0}};
	epoll_ctl(epfd, EPOLL_CTL_ADD, pipefd[0], &ev);
	sem = semget(IPC_PRIVATE, 1, 0600);
	msg = msgget(IPC_PRIVATE, 0600);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGWINCH, SIG_DFL);
	pthread_t th[KINDS];
	int fast = argc > 2;
	for (int i = 0; i < KINDS; i++)
		if (!fast || !kinds[i].never) pthread_create(&th[i], 0, body, &kinds[i]);
	printf("ready\n");
	fflush(stdout);
	for (long end = now() + ms * 1000000L; now() < end;) {
		struct timespec t = {0, 10000000};
		if (nanosleep(&t, 0)) printf("main nanosleep: %s\n", strerror(errno));
	}
	stop = 1;
	char c = 'x';
	struct { long t; char b; } m = {1, 'x'};
	write(wake[1], &c, 1) == 1 && msgsnd(msg, &m, 1, 0) == 0 ? 0 : exit(2);
	for (int i = 0; i < KINDS; i++)
		if (!fast || !kinds[i].never) pthread_join(th[i], 0);
	semctl(sem, 0, IPC_RMID);
	msgctl(msg, IPC_RMID, 0);
	int fail = 0;
	for (int i = 0; i < KINDS; i++) {
		if (bad[i] || early[i] || (!rounds[i] && !(fast && kinds[i].never)))
			printf("%s: %ld rounds, %ld bad (%s), %ld early\n", kinds[i].name, rounds[i], bad[i], strerror(lasterr[i]), early[i]), fail = 1;
	}
	printf("done\n");
	return fail;
}
