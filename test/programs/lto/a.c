#include "names.h"
typedef int word;
struct node {
	word x, y;
};
enum kind { FEW = 1, SOME = 5 };
static int counter = 5;
static struct node here = {1, 2}; /* both are changed: taken apart they would have no place */
int shared = 77;

__attribute__((noinline)) static int fa(int x)
{
	static int calls;
	printf("fa counter=%d here={x = %d, y = %d} calls=%d shared=%d sizeof(word)=%d sizeof(struct node)=%d SOME + 0=%d\n",
	       counter, here.x, here.y, calls, shared, (int)sizeof(word), (int)sizeof(struct node), SOME);
	calls++;
	counter += x;
	here.x += counter;
	here.y--;
	return counter + calls;
}

int main(void)
{
	int r = 0;
	for (int i = 0; i < 3; i++)
		r += fa(i) + fb(i) + fc(i);
	return r == 0;
}
