/* Lives of programs whose memory, limits and layout are unusual. What a life needs is there before a tracer attaches. */
#include "life.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/time.h>

#define PAGE 4096UL

static void rest(void)
{
	for (int i = 0; i < 40; i++)
		work(i);
}

/* The lines of /proc/self/maps, one after the other. */
static int each_map(int (*f)(unsigned long lo, unsigned long hi, const char *prot, const char *line))
{
	static char all[1 << 20], copy[1 << 20];
	int fd = open("/proc/self/maps", O_RDONLY), n = 0, r;

	while (fd >= 0 && (r = read(fd, all + n, sizeof all - 1 - n)) > 0)
		n += r;
	close(fd);
	all[n] = 0;
	strcpy(copy, all);
	int count = 0;
	char *next, *line = copy;
	for (; *line; line = next) {
		unsigned long lo, hi;
		char prot[5];

		next = strchr(line, '\n');
		*next++ = 0;
		if (sscanf(line, "%lx-%lx %4s", &lo, &hi, prot) == 3)
			count += f(lo, hi, prot, line);
	}
	return count;
}

/* All code is sealed, so nobody can change its mappings any more. */
static int seal_code(unsigned long lo, unsigned long hi, const char *prot, const char *line)
{
	if (prot[2] != 'x' || strstr(line, "[vsyscall]"))
		return 0;
	return syscall(462 /* mseal, Linux 6.10 */, lo, hi - lo, 0) == 0;
}

static int seal_all(unsigned long lo, unsigned long hi, const char *prot, const char *line)
{
	return !strstr(line, "[v") && !strstr(line, "[heap") && syscall(462, lo, hi - lo, 0) == 0;
}

static int sealed(void)
{
	rest();
	return 0;
}

static int seals_later(void)
{
	work(1);
	each_map(seal_code);
	rest();
	return 0;
}

static int seals_all_later(void)
{
	work(1);
	each_map(seal_all);
	rest();
	return 0;
}

/* A stack that the kernel extends: its lowest page is mapped, the rest must be free. */
static char *growing;
static size_t room = 8 << 20;

static NOINLINE long deep(long n)
{
	volatile char frame[2048];

	frame[0] = n;
	if (n <= 0)
		return quiet(1, 2);
	return deep(n - 1) + frame[0];
}

static void *on_growing(void *arg)
{
	for (int i = 0; i < 5; i++)
		work(i);
	say("deep", deep((long)arg) != 0);
	return NULL;
}

extern char __executable_start, _end;

/* At near, or where the kernel puts it. */
static int grows(unsigned long near)
{
	size_t top = 64 << 10;

	if (!near) {
		/* where the kernel puts it, with room below */
		char *p = mmap(NULL, room + top, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		munmap(p, room + top);
		near = (unsigned long)p + room;
	}
	growing = mmap((void *)near, top, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1, 0);
	return growing == MAP_FAILED ? -errno : 0;
}

/* All memory below the code is taken, and the stack needs what is behind the data, but for less than a tracer takes there. */
static int grows_near(void)
{
	unsigned long code = (unsigned long)&__executable_start & ~(PAGE - 1), below = (2UL << 30) + (64 << 20);

	if (mmap((void *)(code - below), below, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		return errno;
	return grows((((unsigned long)&_end + PAGE - 1) & ~(PAGE - 1)) + (8 << 20));
}

static void *switched(void *arg)
{
	/* run deep() on the growing stack, as a coroutine library does */
	void *top = growing + (64 << 10);

	__asm__ volatile("mov %%rsp, %%rbx\n\tmov %[top], %%rsp\n\tmov %[arg], %%rdi\n\tcall *%[f]\n\tmov %%rbx, %%rsp"
		: : [top] "r"(top), [arg] "r"(arg), [f] "r"(on_growing)
		: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	return NULL;
}

static int grows_down(void)
{
	rest();
	switched((void *)3300L);
	rest();
	return 0;
}

/* The heap grows to where the kernel lets it. */
static int grows_up(void)
{
	rest();
	for (int i = 0; i < 64; i++) {
		char *p = sbrk(1 << 20);

		if (p == (void *)-1) {
			say("no heap at", i);
			break;
		}
		p[0] = 1;
	}
	rest();
	return 0;
}

/* The code is in anonymous memory, in large pages where there are some: as programs do that copy their text to huge pages. */
static int copy_text(unsigned long lo, unsigned long hi, const char *prot, const char *line)
{
	unsigned long huge = 2 << 20;

	if (prot[2] != 'x' || (unsigned long)step < lo || (unsigned long)step >= hi)
		return 0;
	size_t len = hi - lo;
	char *p = mmap(NULL, len + 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = (char *)(((unsigned long)p + huge - 1) & ~(huge - 1)) + (lo & (huge - 1));
	madvise(p, len, MADV_HUGEPAGE);
	memcpy(p, (void *)lo, len);
	mprotect(p, len, PROT_READ | PROT_EXEC);
	return mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, lo) == (void *)lo;
}

static int plain(void)
{
	rest();
	return 0;
}

/* Executed from a memfd. */
extern char **environ;

static int from_memory(char **argv)
{
	const char *name = strrchr(argv[0], '/');
	int from = open("/proc/self/exe", O_RDONLY), to = memfd_create(name ? name + 1 : argv[0], 0);
	char buf[1 << 16];
	ssize_t r;

	while ((r = read(from, buf, sizeof buf)) > 0)
		if (write(to, buf, r) != r)
			return 81;
	setenv("LIFE_IN_MEMORY", "1", 1);
	fexecve(to, argv, environ);
	return 82;
}

static void limit(int what, rlim_t n)
{
	struct rlimit r = { n, n };

	setrlimit(what, &r);
}

/* The memory that was made executable or shared since the start is made inaccessible, and accessible again. */
static int runs; /* code of the program, meanwhile */

static int was(unsigned long lo, unsigned long hi, const char *prot, const char *line)
{
	int p = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) | (prot[2] == 'x' ? PROT_EXEC : 0);

	if (strchr(line, '[') || (strchr(line, '/') && !strstr(line, "/memfd:")) || !p)
		return 0;
	if (prot[2] != 'x' && prot[3] != 's')
		return 0;
	mprotect((void *)lo, hi - lo, PROT_NONE);
	if (runs)
		quiet(lo, 1);
	return mprotect((void *)lo, hi - lo, p) == 0;
}

static int closes_areas(void)
{
	for (int i = 0; i < 20; i++) {
		work(i);
		each_map(was);
	}
	return 0;
}

static int runs_closed(void)
{
	runs = 1;
	return closes_areas();
}

/* Pages that a handler of the program must fill before anybody can read them. */
static int served = -1;
static char *missing;
static volatile long faults;

static void *serves(void *arg)
{
	struct uffd_msg m;

	while (read(served, &m, sizeof m) == sizeof m) {
		struct uffdio_zeropage z = { .range = { m.arg.pagefault.address & ~(PAGE - 1), PAGE } };

		faults++;
		ioctl(served, UFFDIO_ZEROPAGE, &z);
	}
	return NULL;
}

static void *rests_there(void *arg)
{
	long n = (long)arg;

	work(n);
	return NULL;
}

static int serve(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	size_t len = 512 * PAGE;
	pthread_t t;

	served = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (served < 0 || ioctl(served, UFFDIO_API, &api))
		return -1;
	missing = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct uffdio_register r = { .range = { (unsigned long)missing, len }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	if (ioctl(served, UFFDIO_REGISTER, &r))
		return -1;
	return pthread_create(&t, NULL, serves, NULL);
}

/* Threads whose stacks are such pages, and hits whose pointers lead to them. */
static int served_pages(void)
{
	pthread_attr_t a;
	pthread_t t;

	if (served < 0)
		return 0;
	pthread_attr_init(&a);
	pthread_attr_setstack(&a, missing + 16 * PAGE, 256 * PAGE);
	for (int i = 0; i < 10; i++) {
		pthread_create(&t, &a, rests_there, (void *)(long)i);
		pthread_join(t, NULL);
		madvise(missing + 16 * PAGE, 256 * PAGE, MADV_DONTNEED);
	}
	quiet((long)missing, 1);
	return 0;
}

/* What a life needs before a tracer comes. */
static int prepare(char **argv)
{
	const char *life = argv[1] ? argv[1] : "";

	if (!strcmp(life, "sealed"))
		each_map(seal_code);
	else if (!strcmp(life, "grows-down"))
		return grows(0);
	else if (!strcmp(life, "grows-down-near"))
		return grows_near();
	else if (!strcmp(life, "borders")) { /* of code and data, as /proc/PID/stat shows them */
		growing = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		prctl(PR_SET_MM, PR_SET_MM_START_CODE, growing, 0, 0);
		prctl(PR_SET_MM, PR_SET_MM_END_CODE, growing + 64, 0, 0);
		prctl(PR_SET_MM, PR_SET_MM_START_DATA, growing, 0, 0);
	} else if (!strcmp(life, "huge-text"))
		each_map(copy_text);
	else if (!strcmp(life, "from-memory") && !getenv("LIFE_IN_MEMORY"))
		return from_memory(argv);
	else if ((!strcmp(life, "no-randomize") || !strcmp(life, "readable-code")) && !getenv("LIFE_IN_MEMORY")) {
		personality(*life == 'n' ? ADDR_NO_RANDOMIZE : READ_IMPLIES_EXEC);
		setenv("LIFE_IN_MEMORY", "1", 1);
		execv("/proc/self/exe", argv);
	} else if (!strcmp(life, "no-space"))
		limit(RLIMIT_AS, 1 << 20);
	else if (!strcmp(life, "no-data"))
		limit(RLIMIT_DATA, 1 << 12);
	else if (!strcmp(life, "no-locked"))
		limit(RLIMIT_MEMLOCK, 0);
	else if (!strcmp(life, "no-files"))
		limit(RLIMIT_FSIZE, 0), limit(RLIMIT_NOFILE, 3);
	else if (!strcmp(life, "served-pages"))
		serve();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "sealed", sealed }, { "seals-later", seals_later }, { "seals-all-later", seals_all_later }, { "grows-down", grows_down },
		{ "grows-down-near", grows_down }, { "grows-up", grows_up }, { "borders", plain }, { "huge-text", plain },
		{ "from-memory", plain }, { "no-randomize", plain }, { "readable-code", plain }, { "no-space", plain }, { "no-data", plain },
		{ "no-locked", plain }, { "no-files", plain }, { "closes-areas", closes_areas },
		{ "runs-closed", runs_closed }, { "served-pages", served_pages }, { 0 },
	};
	int r = prepare(argv);

	if (r) {
		say("prepared", r);
		return 97;
	}
	return lead(argc, argv, lives);
}
