/* The thesis's example: two variables count up and are printed. */
#include <stdio.h>

int main(void)
{
	int i = -4, j = -2;

	for (int n = 0; n < 8; n++) {
		printf("i %d j %d\n", i, j);
		i++;
		j++;
	}
	return 0;
}
