#include "both.h"
struct node { int value; struct node *next; };
typedef short word;
enum { MODE = 1 };
union cell { int i; };
static same_t s = { 1 };
static union cell cell;
static word kept;
__attribute__((noinline)) int fa(void *p)
{
	struct node *n = p;
	cell.i = s.x + AGREED;
	kept = MODE;
	return n->value + cell.i + kept;
}
