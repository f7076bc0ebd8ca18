/* What a kernel's tracepoints compile to, in a program: static branches listed in
   __jump_table, listeners called out of line. */
#include <stdint.h>

struct key { int enabled; void *entries; };
struct tracepoint { const char *name; struct key key; void *funcs; };

#ifdef ENABLED
#define BRANCH "jmp.d32 %l[yes]"
#elif defined SHORT
#define BRANCH ".byte 0x66, 0x90"
#else
#define BRANCH ".byte 0x0f, 0x1f, 0x44, 0, 0"
#endif
#ifdef NO_TABLE
#define LIST(key)
#else
#define LIST(key) ".pushsection __jump_table, \"aw\"\n.balign 8\n" \
	".long 1b - ., %l[yes] - .\n.quad %c0 + 1 - .\n.popsection\n"
#endif
#define SITE(n) static_branch_##n##_

#define STATIC_BRANCH(n, k) asm goto("1: " BRANCH "\n" LIST(k) :: "i"(k) :: yes)

long seen[16];
int nseen;

#define TRACEPOINT(n) \
	struct tracepoint __tracepoint_##n = {#n}; \
	__attribute__((noinline, noipa)) int __traceiter_##n(void *data, long a, const char *b) \
	{ \
		seen[nseen++ & 15] = a + (b != 0) + (data != 0); \
		return 0; \
	} \
	static inline __attribute__((always_inline)) int trace_##n##_enabled(void) \
	{ \
		STATIC_BRANCH(n, &__tracepoint_##n.key); \
		return 0; \
	yes: \
		return 1; \
	} \
	static inline __attribute__((always_inline)) void trace_##n(long a, const char *b) \
	{ \
		STATIC_BRANCH(n, &__tracepoint_##n.key); \
		return; \
	yes:; \
		void *funcs = *(void *volatile *)&__tracepoint_##n.funcs; \
		__traceiter_##n(funcs, a, b); \
	}

TRACEPOINT(alpha)
TRACEPOINT(beta)
TRACEPOINT(gamma)
TRACEPOINT(never)
struct key other_key;

static inline __attribute__((always_inline)) long helper(long inner, const char *text)
{
	long twice = inner * 2;
	trace_beta(twice, text);
	return twice + 1;
}

__attribute__((noinline, noipa)) long first(long x, long y, const char *text)
{
	long sum = x + y;
	if (sum & 1)
		trace_alpha(sum, text);
	return sum * x - y;
}

__attribute__((noinline, noipa)) long second(long x, const char *text)
{
	long local = x * 7, r = helper(x + 3, text);
	trace_alpha(local + r, text);
	return local ^ r ^ x;
}

__attribute__((noinline, noipa)) long third(long x, const char *text)
{
	long cost = 0;
	if (trace_gamma_enabled()) {
		for (long i = 0; i < x; i++)
			cost += text[i & 1];
		trace_gamma(cost, text);
	}
	return cost + x;
}

__attribute__((noinline, noipa)) long untraced(long x)
{
	STATIC_BRANCH(other, &other_key);
	return x;
yes:
	return x + 1;
}

__attribute__((noinline, noipa)) long forbidden(long x, const char *text)
{
	trace_beta(x, text);
	return x + 2;
}

typedef long function(long, const char *);
function *list[] = {forbidden};
asm(".globl __start_kprobe_blacklist, __stop_kprobe_blacklist\n"
    ".set __start_kprobe_blacklist, list\n.set __stop_kprobe_blacklist, list + 8\n");

int main(void)
{
	long v = 0;
	for (long i = 1; i < 4; i++)
		v += first(i, 2 * i, "ab") + second(i, "cd") + third(i, "ef") + untraced(i) + forbidden(i, "gh");
	return v == 42;
}
