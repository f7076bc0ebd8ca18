// Copies in every size by memcpy and mempcpy, and checks.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

static char to[40000], from[40000];

int main(void)
{
	unsigned long sum = 0;
	for (unsigned i = 0; i < sizeof from; i++)
		from[i] = (char)(i * 7);
	for (volatile size_t n = 0; n < sizeof from; n += n / 16 + 1) {
		char *end = mempcpy(to, from, n);
		sum += (unsigned long)(end - to) + (unsigned char)to[n / 2];
		if (memcmp(to, from, n) != 0 || memcpy(to + 1, from, n / 2) != to + 1)
			return 1;
	}
	printf("%lu\n", sum);
	return 0;
}
