// Names of members, or of objects in a namespace, that mean something else outside.
// The marker is as <sys/sdt.h> makes it.

int w = 3, both = 13;

namespace N {
int both = 12, w = 1000;
struct Base {
	int w = 1;
	static int st;
	enum { K = 79 };
	struct In { char c[7]; };
};
int Base::st = 107;
struct D : Base {
	int both = 5;
	__attribute__((noinline)) int f(int n)
	{
		__asm__ volatile(
			"990: nop\n.pushsection .note.stapsdt, \"\", \"note\"\n"
			".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			"991: .asciz \"stapsdt\"\n992: .balign 4\n"
			"993: .8byte 990b, _.stapsdt.base, 0\n"
			".asciz \"demo\"\n.asciz \"inside\"\n.asciz \"-4@%0\"\n"
			"994: .balign 4\n.popsection\n"
			".ifndef _.stapsdt.base\n"
			".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
			".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
			".size _.stapsdt.base, 1\n.popsection\n.endif\n"
			: : "nor"(n));
		asm volatile("" : : "g"(this) : "memory");
		return n + both + w;
	}
};
struct In { char c[9]; };
}

int main()
{
	N::D d;
	return d.f(4) != 10;
}
