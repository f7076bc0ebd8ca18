// heap: grows the heap of brk(2) by 512 MiB.
#include <stdio.h>
#include <unistd.h>
int main(void) {
	for (int i = 0; i < 512; i++)
		if (sbrk(1 << 20) == (void *)-1) {
			printf("brk stops after %d MiB\n", i);
			return 1;
		}
	write(1, "grown\n", 6);
	return 0;
}
