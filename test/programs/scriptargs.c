// Functions whose parameters a script reads at their first instruction.
#include <stdio.h>
struct big { long a, b, c; };
struct two { long a; double d; };
__attribute__((noinline)) int ints(char a, short b, int c, long d, unsigned char e, _Bool f, int g, long h) {
	int local = a + b;
	return local + c + d + e + f + g + h;
}
__attribute__((noinline)) struct big large(int a, const char *s) { struct big r = {a, *s, 3}; return r; }
__attribute__((noinline)) double mixed(double x, int a, float y, struct big b, int c) { return x + a + y + b.a + c; }
__attribute__((noinline)) long objects(struct two t, int after) { return t.a + t.d + after; }
__attribute__((noinline, ms_abi)) int foreign(int a, double b) { return a + b; }
__attribute__((noinline)) int mixedtoo(int x) { return x; }
int main(void) {
	struct big b = {10, 20, 30};
	struct two t = {4, 5.5};
	volatile long sum = ints(-1, -2, -3, -4, 200, 1, 7, -8) + large(11, "text").a + mixed(1.5, 21, 2.5, b, 22) + objects(t, 6);
	return sum + mixedtoo(3) + foreign(1, 2.5) == 0;
}
