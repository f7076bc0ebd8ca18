// Two functions, called as often.
static volatile long sum;
__attribute__((noinline)) void plain(long key) { sum += key; }
__attribute__((noinline)) void other(long key) { sum += 2 * key; }
int main(void) {
	for (long i = 0; i < 1000; i++) {
		plain(i);
		other(i);
	}
	return 0;
}
