/* Vector instructions at the beginning of functions, one of them like a branch to the kernel. */
#include <stdio.h>
#include <unistd.h>

double same(double, double);
float twice(float, float);

__asm__(".text\n.globl same\n.type same,@function\n"
	"same: vpcmpeqb %xmm1,%xmm1,%xmm0\n ret\n.size same,.-same\n"
	".globl twice\n.type twice,@function\n"
	"twice: vaddps %xmm1,%xmm1,%xmm0\n ret\n.size twice,.-twice\n");

int main(void)
{
	char c;

	while (read(0, &c, 1) == 1) {
		double d = same(1, 2);

		if (d == d || twice(1, 2) != 4) /* all bits set is no number */
			return 1;
		if (write(1, "on\n", 3) != 3)
			return 2;
	}
	printf("ok\n");
	return 0;
}
