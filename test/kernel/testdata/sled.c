/*
 * Functions that begin with a nop of five bytes, as tracers like them, in a loop that
 * checks their results: sled THREADS. The protocol is that of checked.c.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

long sled(long);
long plain(long);

__asm__(".text\n.globl sled\n.type sled,@function\n"
	"sled: .byte 0x0f,0x1f,0x44,0x00,0x00\n lea 1(%rdi),%rax\n ret\n.size sled,.-sled\n"
	".globl plain\n.type plain,@function\n"
	"plain: mov %rdi,%rax\n add $2,%rax\n ret\n.size plain,.-plain\n");

static atomic_int stop, bad;
static atomic_long rounds[64];

static void *work(void *arg)
{
	long id = (long)arg;

	for (long i = 0; !atomic_load(&stop); i++) {
		if (sled(i) != i + 1 || plain(i) != i + 2)
			atomic_store(&bad, 1);
		atomic_fetch_add(&rounds[id], 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[64];
	long all = 0;
	char c;

	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	while (read(0, &c, 1) == 1) {
		for (int i = 0; i < n; i++) {
			long from = atomic_load(&rounds[i]);

			while (atomic_load(&rounds[i]) < from + 2)
				usleep(100);
		}
		if (write(1, "on\n", 3) != 3)
			return 1;
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		all += rounds[i];
	}
	printf("%s\n", bad ? "bad" : "ok");
	fprintf(stderr, "%ld rounds\n", all);
	return bad != 0;
}
