/* A library with a variable that the program takes a copy of, and one that is its own. */
int shared_count = 5;
static int own_count = 9;

__attribute__((noinline)) int count_up(int i) { own_count++; shared_count += i; return shared_count; }
