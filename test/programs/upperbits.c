// Functions whose results are narrower than their register: the bits above have anything.
#define F(type, name, reg) \
	__attribute__((naked, noinline)) type name(int n) \
	{ \
		__asm__("movabs $0x5a5a5a5a5a5a5a5a, %rax\n\tmov " reg "\n\tret"); \
	}

enum sign { minus = -1, zero, plus };

F(int, f_int, "%edi, %edi\n\tshl $32, %rax\n\tor %rdi, %rax")
F(unsigned, f_unsigned, "%edi, %edi\n\tshl $32, %rax\n\tor %rdi, %rax")
F(enum sign, f_enum, "%edi, %edi\n\tshl $32, %rax\n\tor %rdi, %rax")
F(short, f_short, "%di, %ax")
F(signed char, f_schar, "%dil, %al")
F(unsigned char, f_uchar, "%dil, %al")
F(_Bool, f_bool, "%edi, %ecx\n\tand $1, %cl\n\tmov %cl, %al")

volatile long sink;

int main(void)
{
	for (int n = -3; n <= 3; n++) {
		sink = f_int(n), sink = f_unsigned(n), sink = f_short(n), sink = f_schar(n), sink = f_uchar(n), sink = f_bool(n);
		sink = f_enum(n < 0 ? minus : n > 0);
	}
}
