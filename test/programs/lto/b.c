#include "names.h"
typedef long word;
struct node {
	word a, b, c;
};
enum kind { MANY = 100, SOME = 50 };
static long counter = 50;
static struct node here = {10, 20, 30};

__attribute__((noinline)) int fb(int x)
{
	static long calls = 100;
	printf("fb counter=%ld here={a = %ld, b = %ld, c = %ld} calls=%ld shared=%d sizeof(word)=%d sizeof(struct node)=%d SOME + 0=%d\n",
	       counter, here.a, here.b, here.c, calls, shared, (int)sizeof(word), (int)sizeof(struct node), SOME);
	calls += 2;
	counter += 2 * x;
	here.a += counter;
	here.b--;
	here.c++;
	shared++;
	return here.a + counter + calls;
}
