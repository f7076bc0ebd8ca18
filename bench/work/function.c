/* The traced function, in a file of its own so that nothing is inlined. */
#include "work.h"
#ifdef LTTNG
#include "lttng-tp.h"
#endif
#ifdef USDT_PROBE
#include "usdt.h"
#endif

int counter = 1;

/* the arguments behind a pointer */
int test_pointer(struct pair *p)
{
	counter++;
	return p->counter1 + p->counter2 + counter;
}

int test_function(int counter1, int counter2)
{
	counter++;
#ifdef LTTNG
	lttng_ust_tracepoint(jalonbench, hit, counter1, counter2);
#endif
#ifdef USDT_PROBE
	USDT(counter1, counter2);
#endif
	return counter1 + counter2 + counter;
}
