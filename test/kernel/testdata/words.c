/* Passes and returns strings. */
__attribute__((noinline)) const char *skip(const char *s) {
	__asm__ volatile("" : "+r"(s));
	return s + 1;
}

int main(void) {
	int n = 0;
	for (int i = 0; i < 3; i++) n += *skip("a word");
	return n == 0;
}
