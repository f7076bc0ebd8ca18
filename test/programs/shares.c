/* Has a copy of a variable of the library that it is linked with. */
#include <stdio.h>

extern int shared_count;
int count_up(int);

int main(void)
{
	shared_count = 77;
	for (int i = 0; i < 3; i++)
		count_up(i);
	printf("%d\n", shared_count);
	return 0;
}
