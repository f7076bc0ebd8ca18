/* Static markers as <sys/sdt.h> makes them, one with a semaphore. */
#include <stdio.h>

unsigned short demo_guarded_semaphore __attribute__((section(".probes"), used));

#define MARKER(name, sem, a, b, c)                                              \
	__asm__ volatile("990: nop\n"                                            \
		".pushsection .note.stapsdt, \"\", \"note\"\n"                   \
		".balign 4\n .4byte 992f-991f, 994f-993f, 3\n"                   \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n"                      \
		"993: .8byte 990b, _.stapsdt.base, " sem "\n"                    \
		".asciz \"demo\"\n .asciz \"" #name "\"\n"                       \
		".asciz \"-4@%0 -8@%1 8@%2\"\n"                                  \
		"994: .balign 4\n.popsection\n"                                  \
		".ifndef _.stapsdt.base\n"                                       \
		".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
		".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n" \
		".size _.stapsdt.base, 1\n.popsection\n.endif\n"                 \
		:: "nor"(a), "nor"(b), "nor"(c))

static const char *kind(long i) { return i == 0 ? "zero" : i % 2 ? "odd" : "even"; }

__attribute__((noinline)) static void work(long n) {
	for (long i = 0; i < n; i++) {
		const char *k = kind(i);
		MARKER(step, "0", (int)i - 7, i, k);
		if (*(volatile unsigned short *)&demo_guarded_semaphore) MARKER(guarded, "demo_guarded_semaphore", (int)i + 100, i, k);
	}
}

int main(void) {
	long n;
	setvbuf(stdout, 0, _IOLBF, 0);
	printf("semaphore %d\n", demo_guarded_semaphore);
	while (scanf("%ld", &n) == 1) {
		work(n);
		printf("done %ld semaphore %d\n", n, *(volatile unsigned short *)&demo_guarded_semaphore);
	}
	return 0;
}
