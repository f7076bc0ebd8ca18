// Calls each function of branches.S by its front and by its back door.
#include <stdio.h>

#define EACH(F) F(near) F(after) F(far) F(cond) F(label) F(pointer) F(table) F(written)
#define DECLARE(n) long n(long), n##_in(long);
EACH(DECLARE)

int main(void)
{
#define CALL(n)                                                            \
	{                                                                  \
		long a = 0, b = 0;                                         \
		for (long i = 0; i < 100; i++)                             \
			a += n(i), b += n##_in(i);                         \
		printf(#n " %ld %ld\n", a, b);                             \
	}
	EACH(CALL)
	return 0;
}
