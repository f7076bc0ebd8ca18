#include "both.h"
struct node { char *name; struct node *next; int value; };
typedef long word;
enum { MODE = 2 };
union cell { int i; char c[12]; };
static same_t s = { 2 };
static union cell cell;
static word kept;
__attribute__((noinline)) int fb(void *p)
{
	struct node *n = p;
	cell.i = s.x + AGREED;
	kept = MODE;
	return n->value + cell.i + kept;
}
