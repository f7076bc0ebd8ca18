/* Arrays without elements of their own inside of structs. */
#include <stdio.h>

struct packet {
	int length;
	char data[];
};
struct numbers {
	int n;
	int list[];
};
struct outer {
	short first;
	struct numbers in;
};
struct empty {
	int a;
	int none[0];
	short nothing[0];
};

struct packet packet = {4, "abc"};
static struct outer outer = {1, {2}};
static struct empty many[3] = {{5}, {6}, {7}};
int none[0];

__attribute__((noinline)) int shown(struct packet *p, struct outer *o, struct empty *e)
{
	__asm__ volatile("" : : "g"(p), "g"(o), "g"(e) : "memory");
	return p->length;
}

int main(void)
{
	printf("%p %p %p %p %p\n", packet.data, (void *)outer.in.list, (void *)many[0].none, (void *)many[1].nothing, (void *)none);
	return shown(&packet, &outer, many) != 4;
}
