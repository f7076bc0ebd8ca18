// Objects whose first word does not point to the table of their class. See TestWrongTables.
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/mman.h>

struct Top {
	int t = 1;
	virtual ~Top() {}
};
struct Left : virtual Top {
	int l = 2;
};
struct Deep : Left {
	int d = 3;
};
struct Other {
	int o = 4;
	virtual ~Other() {}
};

// What the table of Left has, but it is none: the base would be 8 bytes behind.
long copied[8] = { 8, 8, 8, 8, 8, 8, 8, 8 };

__attribute__((noinline)) int look(Left *p)
{
	asm volatile("" ::: "memory");
	return p->l; // look here
}

int main()
{
	alignas(16) static char memory[8][64];
	Left *good = new (memory[0]) Deep;
	int sum = look(good);

	long *fake = (long *)memory[1];
	fake[0] = (long)&copied[5];
	sum += look((Left *)fake);

	memset(memory[2], 0xdb, 64);
	sum += look((Left *)memory[2]);

	sum += look((Left *)memory[3]); // zeros

	Left *gone = new (memory[4]) Left;
	gone->~Left();
	*(Other *)memory[4] = Other();
	new (memory[4]) Other;
	sum += look((Left *)memory[4]);

	// A table that is right, and an object whose base lies in a page that is not there.
	char *page = (char *)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 4096, 4096);
	memcpy(page + 4096 - 16, memory[0], 16);
	sum += look((Left *)(page + 4096 - 16));
	printf("%d\n", sum);
}
