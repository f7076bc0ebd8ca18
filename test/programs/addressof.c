#include <stdio.h>

volatile int sum;

__attribute__((noinline)) void add(int *p)
{
	sum += *p;
}

__attribute__((noinline)) int inRegister(int n)
{
	int v = n * 3;
	sum++;
	sum += v; // in a register
	return v + 1;
}

__attribute__((noinline)) int inMemory(int n)
{
	int v = n * 5;
	add(&v);
	sum += v; // in memory
	return v + sum;
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		printf("%d %d\n", inRegister(i), inMemory(i));
}
