// sigstorm MS: a 1 kHz timer with a handler and queued real-time signals; counts
// what was sent and what arrived.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long alarms, rt, rtsum, usr;
static void on_alarm(int sig) { alarms++; }
static void on_rt(int sig, siginfo_t *si, void *uc) { rt++; rtsum += si->si_value.sival_int; if (si->si_code != SI_QUEUE) abort(); }
static void on_usr(int sig) { usr++; }
static void *receiver(void *arg) { for (;;) pause(); }
static long now(void) {
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
int main(int argc, char **argv) {
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &sa, 0);
	sa.sa_handler = on_usr;
	sigaction(SIGUSR1, &sa, 0);
	sa.sa_sigaction = on_rt;
	sa.sa_flags = SA_RESTART | SA_SIGINFO;
	sigaction(SIGRTMIN + 1, &sa, 0);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_t t;
	pthread_create(&t, 0, receiver, 0);
	pthread_sigmask(SIG_BLOCK, &set, 0); // the receiver gets them all
	struct itimerval it = {{0, 1000}, {0, 1000}};
	setitimer(ITIMER_REAL, &it, 0);
	long sent = 0, sum = 0, usrsent = 0;
	printf("ready\n");
	fflush(stdout);
	for (long end = now() + atol(argv[1]); now() < end;) {
		union sigval v = {.sival_int = sent};
		if (sigqueue(getpid(), SIGRTMIN + 1, v) == 0) sum += sent++;
		long before = usr;
		pthread_kill(pthread_self(), SIGUSR1); // synchronous for oneself
		if (usr != before + 1) printf("usr1 lost\n");
		usrsent++;
	}
	memset(&it, 0, sizeof it);
	setitimer(ITIMER_REAL, &it, 0);
	for (long last = -1, end = 0; rt < sent && (rt != last || now() < end);) { // lost is what has not come for 10 s
		if (rt != last) last = rt, end = now() + 10000;
		usleep(1000);
	}
	printf("rt %s sum %s usr %s alarms %s\n", rt == sent ? "ok" : "LOST", rtsum == sum ? "ok" : "BAD",
	       usr == usrsent ? "ok" : "LOST", alarms > 0 ? "ok" : "NONE");
	return 0;
}
