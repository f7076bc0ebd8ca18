/* Leaves functions by exceptions and by returns. */
#include <cstdio>
#include <cstring>

__attribute__((noinline)) static int passed(int n) {
	if (n % 3 == 0) throw n;
	return n;
}

__attribute__((noinline)) static int leaf(int n) {
	asm volatile("");
	return n * 2 + 1;
}

int main(int argc, char **argv) {
	int sum = 0;
	for (int i = 0; i < 9; i++) {
		try {
			sum += argc > 1 && !strcmp(argv[1], "throw") ? passed(i) : leaf(i);
		} catch (int) {
			sum += 100;
		}
	}
	printf("%d\n", sum);
	return 0;
}
