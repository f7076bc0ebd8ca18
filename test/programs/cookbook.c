// A small server for the recipes of docs/cookbook.md: requests of three types, files, children, threads, sleeps.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum kind { GET, PUT, LIST };
struct request {
	enum kind kind;
	int len;
	const char *name;
	double weight;
};
long total;

__attribute__((noinline)) int parse(const char *text, int len) {
	int sum = 0;
	for (int i = 0; i < len; i++)
		sum += text[i % (int)strlen(text)];
	return sum;
}

__attribute__((noinline)) int handle(struct request *r) {
	int n = parse(r->name, r->len);
	if (r->kind == PUT)
		n = -1;
	total += r->len;
	return n;
}

static void *worker(void *arg) {
	pthread_setname_np(pthread_self(), "worker");
	struct timespec ts = {0, 1000000};
	nanosleep(&ts, NULL);
	return arg;
}

static void files(void) {
	char buf[512];
	int fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
	while (read(fd, buf, sizeof buf) > 0)
		;
	close(fd);
	open("/nonexistent", O_RDONLY);
	fd = open("out.tmp", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	unlink("out.tmp"); /* nothing stays if the program is killed */
	for (int n = 1; n <= 512; n *= 2)
		if (write(fd, buf, n) != n)
			exit(1);
	fsync(fd);
	close(fd);
}

int main(void) {
	static const char *names[] = {"index", "image", "style"};
	for (int i = 0; i < 300; i++) {
		struct request r = {i % 3, 1 << (i % 8), names[i % 3], i / 2.0};
		handle(&r);
	}
	for (int i = 0; i < 4; i++) {
		files();
		pthread_t t;
		pthread_create(&t, NULL, worker, NULL);
		pthread_join(t, NULL);
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 1, 1 << 20);
		munmap(p, 1 << 20);
		close(socket(AF_UNIX, SOCK_STREAM, 0));
		if (fork() == 0) {
			execl("/bin/true", "true", "an argument", NULL);
			_exit(1);
		}
		wait(NULL);
	}
	return 0;
}
