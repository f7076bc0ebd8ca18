/* A program that uses variables of libraries, some of which it declares, and replaces one. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
struct om_pair { int a; char *text; };
extern struct om_pair om_copied;
extern int om_both;
extern __thread int om_thread;
int om_replaced = 91;
void om_first(void);
void om_second(void);
__attribute__((noinline)) int om_place(int n) { errno = n; return n + (om_copied.a & 0) + (om_both & 0) + (om_thread & 0); }
int main(void)
{
	om_first(), om_second();
	int own = om_place(3);
	printf("om_copied={a=%d text=\"%s\"} om_both=%d om_thread=%d om_replaced=%d errno=%d\n", om_copied.a, om_copied.text, om_both, om_thread, om_replaced, errno);
	return own == 3 ? 0 : 1;
}
