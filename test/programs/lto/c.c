#include "names.h"
typedef char word;
struct node {
	word tag[3];
};
enum kind { SOME = 9 };
static short counter = 500;
static struct node here = {{1, 2, 3}};

int fc(int x)
{
	static char calls = 7;
	printf("fc counter=%d here={tag = \"\\%03o\\%03o\\%03o\"} calls=%d shared=%d sizeof(word)=%d sizeof(struct node)=%d SOME + 0=%d\n",
	       counter, here.tag[0], here.tag[1], here.tag[2], calls, shared, (int)sizeof(word), (int)sizeof(struct node), SOME);
	calls += x;
	counter--;
	here.tag[0]++;
	here.tag[1]++;
	here.tag[2]++;
	return counter + calls;
}
