// Lives with exceptions, through code that is traced.
extern "C" {
#include "life.h"
}
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Guard {
	static long alive;
	long mark;
	explicit Guard(long m) : mark(m) { alive++; }
	NOINLINE ~Guard() { alive--; quiet(mark, alive); }
};
long Guard::alive;

NOINLINE long dive(long n)
{
	Guard g(n);
	step(n, 1);
	if (n == 0)
		throw std::runtime_error("bottom " + std::to_string(Guard::alive));
	return dive(n - 1) + g.mark;
}

static int throws()
{
	long caught = 0;
	for (int i = 0; i < 200; i++) {
		try {
			dive(i % 9);
		} catch (const std::exception &e) {
			caught += e.what()[7] - '0' == i % 9 + 1;
		}
		if (Guard::alive)
			return 90;
	}
	say("caught", caught);
	return 0;
}

NOINLINE long rethrow(long n)
{
	Guard g(n);
	try {
		return dive(n);
	} catch (const std::exception &e) {
		try {
			throw n;
		} catch (long m) {
			step(m, 2);
		}
		throw;
	}
}

static int rethrows()
{
	long caught = 0;
	for (int i = 0; i < 200; i++) {
		try {
			rethrow(i % 5);
		} catch (...) {
			std::exception_ptr p = std::current_exception();
			try {
				std::rethrow_exception(p);
			} catch (std::runtime_error &) {
				caught++;
			}
		}
	}
	say("caught", caught + Guard::alive);
	return 0;
}

static int throws_in_threads()
{
	std::vector<std::thread> list;
	long caught[6] = {};
	for (int k = 0; k < 6; k++)
		list.emplace_back([k, &caught] {
			for (int i = 0; i < 60; i++)
				try {
					step(i, k);
					throw std::string(1, (char)('a' + k));
				} catch (std::string &s) {
					caught[k] += s[0] == 'a' + k;
				}
		});
	long sum = 0;
	for (auto &t : list)
		t.join();
	for (long c : caught)
		sum += c;
	say("caught", sum);
	return 0;
}

NOINLINE static long trace_depth(long n)
{
	void *b[100];
	if (!n)
		return backtrace(b, 100);
	long r = trace_depth(n - 1);
	step(n, 3); // so that the call before is no tail call
	return r;
}

static int backtraces()
{
	long base = trace_depth(0), ok = 0;
	for (int i = 0; i < 60; i++)
		ok += trace_depth(i % 30) == base + i % 30;
	say("ok", ok);
	return 0;
}

static void *cancelled(void *)
{
	Guard g(1);
	for (;;) {
		quiet_work(3);
		pthread_testcancel();
	}
}

static void *exits(void *)
{
	Guard g(1);
	step(1, 1);
	pthread_exit((void *)7);
}

static int cancels()
{
	for (int i = 0; i < 20; i++) {
		pthread_t t;
		void *r;
		pthread_create(&t, NULL, cancelled, NULL);
		pthread_cancel(t);
		pthread_join(t, &r);
		pthread_create(&t, NULL, exits, NULL);
		pthread_join(t, &r);
		if (r != (void *)7)
			return 91;
	}
	say("alive", Guard::alive);
	return 0;
}

static int terminates()
{
	std::set_terminate([] { say_steps(); _exit(77); });
	dive(4);
	return 97;
}

int main(int argc, char **argv)
{
	static const struct life lives[] = {
		{ "throws", throws }, { "rethrows", rethrows }, { "throws-in-threads", throws_in_threads }, { "backtraces", backtraces },
		{ "cancels", cancels }, { "terminates", terminates }, { NULL, NULL },
	};
	return lead(argc, argv, lives);
}
