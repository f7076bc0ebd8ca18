/* Lives with coroutines and with work that the kernel does for the program. */
#include "life.h"
#include <coroutine>
#include <exception>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdexcept>

/* A coroutine that yields numbers; its frame is on the heap. */
struct numbers {
	struct promise_type {
		long value = 0;
		std::exception_ptr error;
		numbers get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(long v) noexcept { value = v; return {}; }
		void return_void() {}
		void unhandled_exception() { error = std::current_exception(); }
	};
	std::coroutine_handle<promise_type> h;
	~numbers() { if (h) h.destroy(); }
	numbers(std::coroutine_handle<promise_type> c) : h(c) {}
	numbers(numbers &&o) : h(o.h) { o.h = nullptr; }
	bool next()
	{
		h.resume();
		if (h.promise().error)
			std::rethrow_exception(h.promise().error);
		return !h.done();
	}
};

static numbers count_to(long n)
{
	for (long i = 0; i < n; i++) {
		work(i);
		co_yield i;
	}
}

static numbers sums(long n)
{
	numbers inner = count_to(n);
	long s = 0;
	while (inner.next())
		co_yield s += inner.h.promise().value;
	if (n % 3 == 2)
		throw std::runtime_error("two");
}

static int coroutines()
{
	long all = 0, thrown = 0;

	for (long n = 0; n < 12; n++) {
		numbers c = sums(n);
		try {
			while (c.next())
				all += c.h.promise().value;
		} catch (std::runtime_error &) {
			thrown++;
		}
	}
	say("sum", all);
	say("thrown", thrown);
	return 0;
}

/* Coroutines that are resumed by other threads than those that they began in. */
static void *resumes(void *arg)
{
	numbers *c = (numbers *)arg;
	return (void *)(long)(c->next() ? c->h.promise().value + 1 : 0);
}

static int coroutines_in_threads()
{
	long all = 0;

	for (int i = 0; i < 6; i++) {
		numbers c = sums(4);
		for (int k = 0; k < 4; k++) {
			pthread_t t;
			void *r;
			if (pthread_create(&t, NULL, resumes, &c))
				return 90;
			pthread_join(t, &r);
			all += (long)r;
		}
	}
	say("sum", all);
	return 0;
}

/* io_uring by its system calls: requests that a worker thread of the kernel does in the
 * process (forced), with a thread that polls the queue where sqpoll is set. */
struct ring {
	int fd;
	unsigned *tail, *mask, *head_c, *tail_c, *mask_c, *flags;
	unsigned *array;
	io_uring_sqe *sqes;
	io_uring_cqe *cqes;
};

static int open_ring(ring *r, unsigned flags)
{
	io_uring_params p = {};

	p.flags = flags;
	p.sq_thread_idle = 1000;
	r->fd = syscall(SYS_io_uring_setup, 8, &p);
	if (r->fd < 0)
		return -1;
	char *sq = (char *)mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	char *cq = (char *)mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
	r->sqes = (io_uring_sqe *)mmap(NULL, p.sq_entries * sizeof(io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQES);
	r->tail = (unsigned *)(sq + p.sq_off.tail), r->mask = (unsigned *)(sq + p.sq_off.ring_mask), r->array = (unsigned *)(sq + p.sq_off.array);
	r->flags = (unsigned *)(sq + p.sq_off.flags);
	r->head_c = (unsigned *)(cq + p.cq_off.head), r->tail_c = (unsigned *)(cq + p.cq_off.tail), r->mask_c = (unsigned *)(cq + p.cq_off.ring_mask);
	r->cqes = (io_uring_cqe *)(cq + p.cq_off.cqes);
	return 0;
}

static int request(ring *r, int op, int fd, void *buf, unsigned n, unsigned long off, bool polled)
{
	unsigned tail = *r->tail, i = tail & *r->mask;
	io_uring_sqe *e = &r->sqes[i];

	memset(e, 0, sizeof *e);
	e->opcode = op, e->fd = fd, e->addr = (unsigned long)buf, e->len = n, e->off = off, e->flags = IOSQE_ASYNC;
	r->array[i] = i;
	__atomic_store_n(r->tail, tail + 1, __ATOMIC_RELEASE);
	unsigned enter = IORING_ENTER_GETEVENTS;
	if (polled && __atomic_load_n(r->flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
		enter |= IORING_ENTER_SQ_WAKEUP;
	while (syscall(SYS_io_uring_enter, r->fd, polled ? 0 : 1, 1, enter, NULL, 0) < 0)
		if (errno != EINTR)
			return -errno;
	unsigned head = *r->head_c;
	while (head == __atomic_load_n(r->tail_c, __ATOMIC_ACQUIRE)) /* submitted, and then interrupted */
		syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	int res = r->cqes[head & *r->mask_c].res;
	__atomic_store_n(r->head_c, head + 1, __ATOMIC_RELEASE);
	return res;
}

static int rings(unsigned flags)
{
	char name[] = "/tmp/lifeXXXXXX", buf[64];
	int fd = mkstemp(name);
	ring r;
	long got = 0;

	unlink(name);
	if (open_ring(&r, flags)) {
		work(1); /* not permitted here: the same untraced */
		say("no io_uring", errno);
		return 0;
	}
	for (int i = 0; i < 40; i++) {
		work(i);
		memset(buf, i, sizeof buf);
		got += request(&r, IORING_OP_WRITE, fd, buf, sizeof buf, i * 64, flags);
		memset(buf, 0, sizeof buf);
		got += request(&r, IORING_OP_READ, fd, buf, sizeof buf, i * 64, flags);
		got += quiet(buf[63], 1) == i * 31 + 1;
	}
	say("bytes", got);
	return 0;
}

static int io_rings() { return rings(0); }
static int io_rings_polled() { return rings(IORING_SETUP_SQPOLL); }

/* The older interface, and libc's threads of its own. */
static int aio()
{
	char name[] = "/tmp/lifeXXXXXX", buf[512];
	int fd = mkstemp(name);
	aio_context_t ctx = 0;
	long got = 0;

	unlink(name);
	if (syscall(SYS_io_setup, 8, &ctx))
		return 90;
	for (int i = 0; i < 40; i++) {
		iocb c = {}, *list = &c;
		io_event e;
		work(i);
		memset(buf, i, sizeof buf);
		c.aio_fildes = fd, c.aio_lio_opcode = IOCB_CMD_PWRITE, c.aio_buf = (unsigned long)buf, c.aio_nbytes = sizeof buf;
		if (syscall(SYS_io_submit, ctx, 1, &list) != 1)
			return 91;
		while (syscall(SYS_io_getevents, ctx, 1, 1, &e, NULL) != 1)
			if (errno != EINTR)
				return 92;
		got += e.res;
	}
	say("bytes", got);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "coroutines", coroutines }, { "coroutines-in-threads", coroutines_in_threads }, { "io-rings", io_rings },
		{ "io-rings-polled", io_rings_polled }, { "aio", aio }, { NULL, NULL },
	};
	return lead(argc, argv, lives);
}
