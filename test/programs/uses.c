/* Calls shared_work and other_work of the libraries that it is linked with. */
#include <stdio.h>

int shared_work(int), other_work(int);

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += shared_work(i) + other_work(i);
	printf("%d\n", sum);
	return 0;
}
