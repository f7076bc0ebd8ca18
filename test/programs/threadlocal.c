// Thread-local variables of all kinds of places, printed for test/threadlocal_test.go.
#include <stdio.h>

#ifdef BIG
__thread char big[BIG]; // the thread's memory is larger than the addresses before it in the file
#endif
__thread int first = 17;
_Thread_local double second = 2.5;
static __thread char text[4] = "abc";
__thread struct { short x; long y; } zeroed;

__attribute__((noinline)) int work(int i)
{
	static __thread int calls = 40;
	zeroed.y += i;
	text[0]++;
	calls += first++;
	printf("first=%d second=%g text=\"%s\" zeroed={x = %d, y = %ld} calls=%d\n", first, second, text, zeroed.x, zeroed.y, calls);
	return calls; // here
}

int main(void)
{
	return work(5) + work(7) == 0;
}
