/* a.c and b.c have the same names for different types; each function first prints
 * their values. With -fdebug-types-section all of them are in type units. */
#include <stdio.h>
#ifdef OWN
#define OUTER "(anonymous namespace)::"
#else
#define OUTER ""
#endif
#ifdef OWN /* clang gives types of one name one signature, and the linker keeps one of them */
namespace {
#endif
#ifdef __cplusplus
namespace N { struct deep { char c[5]; }; }
N::deep deep_a;
#define DEEP N::deep
#define LINKAGE extern "C"
#else
struct deep { char c[5]; };
struct deep deep_a;
#define DEEP struct deep
#define LINKAGE extern
#endif
struct word { int first; };
typedef struct word word;
typedef struct { short q; } unnamed;
struct outer { struct inner { char c[3]; } in; struct outer *next; };
union both { int n; char c[12]; };
enum color { RED = 1, GREEN = 2 };
word word_a;
unnamed unnamed_a;
struct outer outer_a;
union both both_a;
enum color color_a = GREEN;
#ifdef OWN
}
#endif
LINKAGE int fb(void *p);

LINKAGE __attribute__((noinline)) int fa(void *p)
{
	printf("fa sizeof(word)=%d sizeof(struct word)=%d sizeof(unnamed)=%d sizeof(struct outer)=%d sizeof(union both)=%d RED + 0=%d ((word *)p)->first + 0=%ld color_a=%s sizeof(%s)=%d\n",
	       (int)sizeof(word), (int)sizeof(struct word), (int)sizeof(unnamed), (int)sizeof(struct outer), (int)sizeof(union both),
	       RED, (long)((word *)p)->first, OUTER "GREEN", sizeof(DEEP) == 5 ? "DEEP" : "?", (int)sizeof(DEEP));
	return word_a.first + unnamed_a.q + outer_a.in.c[0] + both_a.n + color_a + deep_a.c[0];
}

int main(void)
{
	long v[4] = {0x700000005, 2, 3, 4};
	int r = 0;
	for (int i = 0; i < 3; i++)
		r += fa(v) + fb(v);
	return r == 0;
}
