/* A library with a variable that the program has a copy of, and one without a copy. */
int shared_count = 5;
static int own_count = 9;

__attribute__((noinline)) int count_up(int i) { own_count++; shared_count += i; return shared_count; }
