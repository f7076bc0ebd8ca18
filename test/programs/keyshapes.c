/* keyshapes.c N - calls inner() N times, a quarter of them from one(), with structures, enumerators and texts for keys of maps. */
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
enum color { RED = -2, GREEN, BLUE = 7 };
struct point { int x; short y; char tag; };
struct req { struct point at; enum color c; const char *name; };
static volatile long sum;
__attribute__((noinline)) void inner(struct req *r, long n) { sum += n + r->at.x; syscall(SYS_getpgid, 0); }
__attribute__((noinline)) void one(struct req *r, long n) { inner(r, n); sum++; }
__attribute__((noinline)) void two(struct req *r, long n) { inner(r, n); sum--; }
int main(int c, char **v) {
	static const enum color cs[] = { RED, GREEN, BLUE };
	static const char *names[] = { "a", "bb", "ccc" };
	for (long i = 0; i < atol(v[1]); i++) {
		struct req r = { { i % 3, i % 2, 'a' + i % 5 }, cs[i % 3], names[i % 3] };
		if (i % 4 == 0) one(&r, i); else two(&r, i);
	}
	return 0;
}
