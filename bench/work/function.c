/* The traced function, in a file of its own so that nothing is inlined. */
#include "work.h"

int counter = 1;

int test_function(int counter1, int counter2)
{
	counter++;
	return counter1 + counter2 + counter;
}
