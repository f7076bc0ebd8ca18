/* Lives that move, copy, rewrite and unmap code. */
#include "life.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/uio.h>

#define PAGE 4096UL

/* A page of code that is moved about. */
__attribute__((noinline, noclone, aligned(4096), section(".text.page"))) long paged(long n, long k)
{
	__asm__ volatile("");
	return n * 17 + k;
}
__attribute__((aligned(4096), section(".text.page2"), used)) static void after_page(void)
{
}

typedef long function(long, long);

static long many(function *f, long n)
{
	for (int i = 0; i < 8; i++)
		n = f(n, i) & 0xffffff;
	return n;
}

static char *page_of(void *p) { return (char *)((uintptr_t)p & ~(PAGE - 1)); }

/* A copy of the page, moved over it: the mapping is anonymous then. */
static int moves_copy_over(void)
{
	long want = many(paged, 3);

	work(1);
	char *p = page_of(paged), *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, p, PAGE);
	mprotect(copy, PAGE, PROT_READ | PROT_EXEC);
	if (mremap(copy, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p) != p)
		return 90;
	say("same", many(paged, 3) == want);
	return 0;
}

/* The page of the file is mapped again: patches in it are lost. */
static int maps_again(void)
{
	long want = many(paged, 3);
	unsigned long from, to, off;
	char line[500], path[400], perms[8];

	for (int i = 0; i < 5; i++) {
		work(i);
		FILE *f = fopen("/proc/self/maps", "r");
		char *p = page_of(paged);
		int fd = -1;
		while (fgets(line, sizeof line, f))
			if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %399s", &from, &to, perms, &off, path) == 5 && (unsigned long)p >= from && (unsigned long)p < to) {
				fd = open("/proc/self/exe", O_RDONLY);
				if (mmap(p, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, off + ((unsigned long)p - from)) != p)
					return 91;
				break;
			}
		fclose(f);
		close(fd);
		say("same", many(paged, 3) == want);
	}
	return 0;
}

/* The kernel drops private copies of pages. */
static int drops(void)
{
	long want = many(paged, 3);

	for (int i = 0; i < 20; i++) {
		work(i);
		say("madvise", madvise(page_of(paged), PAGE, MADV_DONTNEED));
		say("same", many(paged, 3) == want);
	}
	return 0;
}

/* Also runs a copy of the code elsewhere: the present contents of the page, with jumps. */
static int unprotects(void)
{
	long want = many(paged, 3);

	for (int i = 0; i < 20; i++) {
		work(i);
		mprotect(page_of(paged), PAGE, PROT_NONE);
		mprotect(page_of(paged), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
		say("same", many(paged, 3) == want);
		mprotect(page_of(paged), PAGE, PROT_READ | PROT_EXEC);
	}
	return 0;
}

/* The program puts a function of its own over a traced one, and later the old one back. */
static int rewrites(void)
{
	static const unsigned char other[] = { 0x48, 0x8d, 0x04, 0x37, 0x48, 0x83, 0xc0, 0x01, 0xc3 }; /* lea (%rdi,%rsi),%rax; add $1,%rax; ret */
	long want = many(paged, 3), sum = 0;
	unsigned char *p = (unsigned char *)paged;

	work(1);
	mprotect(page_of(paged), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(p, other, sizeof other);
	__sync_synchronize();
	for (int i = 0; i < 2000; i++) {
		sum += paged(i, 2) == i + 3;
		usleep(100);
	}
	say("own", sum);
	say("stays", !memcmp(p, other, sizeof other));
	say("another", want != many(paged, 3));
	return 0;
}

/* Code that the program generates, page after page at the same place. */
static int generates(void)
{
	unsigned char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long ok = 0;

	for (int i = 0; i < 1000; i++) {
		p[0] = 0xb8; /* mov $i,%eax; ret */
		memcpy(p + 1, &i, 4);
		p[5] = 0xc3;
		ok += ((int (*)(void))p)() == i;
		if (i % 20 == 0)
			work(i);
		if (i % 100 == 99) {
			munmap(p, PAGE);
			if (mmap(p, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
				return 91;
		}
	}
	say("ok", ok);
	return 0;
}

/* Libraries come and go, at the same place and at others. */
static int reloads(void)
{
	const char *path = getenv("LIFE_PLUGIN");
	long ok = 0;

	for (int i = 0; i < 30; i++) {
		void *h = dlopen(path, RTLD_NOW);
		if (!h) {
			printf("%s\n", dlerror());
			return 92;
		}
		function *f = (function *)dlsym(h, "plugged");
		ok += f && many(f, i) == quiet_work(i) && f(1, 2) == 33;
		if (i % 3 == 0) /* something else takes its place */
			mmap(NULL, 5 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		work(i);
		dlclose(h);
	}
	say("ok", ok);
	return 0;
}

static void *reload_thread(void *arg)
{
	for (int i = 0; i < 15; i++) {
		void *h = dlopen(arg, RTLD_NOW);
		function *f = (function *)dlsym(h, "plugged");
		if (many(f, i) != quiet_work(i))
			return (void *)1;
		dlclose(h);
	}
	return NULL;
}

static int reloads_in_threads(void)
{
	pthread_t t[4];
	void *r;
	long bad = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reload_thread, getenv("LIFE_PLUGIN"));
	for (int i = 0; i < 50; i++)
		work(i);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		bad += (long)r;
	}
	say("bad", bad);
	return 0;
}

/* Many mappings: the neighbourhood of the program is full. */
static int crowded(void)
{
	uintptr_t at = (uintptr_t)page_of(paged) & ~0xffffffUL;
	long got = 0;

	for (long i = -1000; i < 1000; i++) {
		char *want = (char *)(at + i * 0x200000L);
		char *p = mmap(want, 0x1ff000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		got += p == want;
	}
	say("mapped", got > 500);
	for (int i = 0; i < 20; i++)
		work(i);
	return 0;
}

/* Reads all its memory through the kernel, as garbage collectors and profilers do. */
static int reads_itself(void)
{
	char line[500], b[PAGE];
	unsigned long from, to;
	char perms[8];
	long good = 0;

	for (int i = 0; i < 5; i++) {
		FILE *f = fopen("/proc/self/maps", "r");
		work(i);
		while (fgets(line, sizeof line, f)) {
			if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) != 3 || perms[0] != 'r' || strstr(line, "[v"))
				continue;
			struct iovec to_iov = { b, sizeof b }, from_iov = { (void *)from, sizeof b };
			good += process_vm_readv(getpid(), &to_iov, 1, &from_iov, 1, 0) == sizeof b;
		}
		fclose(f);
	}
	say("good", good > 20);
	return 0;
}

static int locks_memory(void)
{
	say("locked", mlockall(MCL_CURRENT | MCL_FUTURE));
	for (int i = 0; i < 50; i++)
		work(i);
	munlockall();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "moves-copy-over", moves_copy_over }, { "maps-again", maps_again }, { "drops", drops }, { "unprotects", unprotects },
		{ "rewrites", rewrites }, { "generates", generates }, { "reloads", reloads }, { "reloads-in-threads", reloads_in_threads },
		{ "crowded", crowded }, { "reads-itself", reads_itself }, { "locks-memory", locks_memory }, { 0 },
	};

	return lead(argc, argv, lives);
}
