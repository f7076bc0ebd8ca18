/* The papers' test function, with the marker in the place of its TRACE_EVENT, and
 * the loop around it. */
#include <stdlib.h>
#include <sys/sdt.h>

int kgtp_counter = 1;

__attribute__((noinline, noclone)) int kgtp_test_function(int counter1, int counter2)
{
	kgtp_counter++;
	DTRACE_PROBE2(module, kgtp_module_event, counter1, counter2);
	return kgtp_counter;
}

__attribute__((noinline, noclone)) void finished(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	int loops = argc > 1 ? atoi(argv[1]) : 10;
	int counter1 = 0, counter2 = 0;

	for (int i = 0; i < loops; i++) {
		counter1++;
		kgtp_test_function(counter1, counter2);
		counter2++;
	}
	finished();
	return kgtp_counter != loops + 1;
}
