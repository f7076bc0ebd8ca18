/* A library whose functions call each other by way of the dynamic linker: see frames_test.go. */
volatile int sink;

__attribute__((noinline)) void leaf(int n)
{
	sink += n; /* here */
}

__attribute__((noinline)) int entry(int a)
{
	int twice = a * 2;

	leaf(twice + 1);
	return twice + sink;
}
