#include <stdio.h>
#ifdef OWN
#define OUTER "(anonymous namespace)::"
#else
#define OUTER ""
#endif
#ifdef OWN
namespace {
#endif
#ifdef __cplusplus
namespace N { struct deep { char c[6]; }; }
N::deep deep_b;
#define DEEP N::deep
#define LINKAGE extern "C"
#else
struct deep { char c[6]; };
struct deep deep_b;
#define DEEP struct deep
#define LINKAGE extern
#endif
struct word { long second, first; };
typedef struct word word;
typedef struct { long q[4]; } unnamed;
struct outer { struct inner { char c[30]; } in; struct outer *next; };
union both { int n; char c[20]; };
enum color { GREEN = 3, RED = 9 };
word word_b;
unnamed unnamed_b;
struct outer outer_b;
union both both_b;
enum color color_b = GREEN;
#ifdef OWN
}
#endif

LINKAGE __attribute__((noinline)) int fb(void *p)
{
	printf("fb sizeof(word)=%d sizeof(struct word)=%d sizeof(unnamed)=%d sizeof(struct outer)=%d sizeof(union both)=%d RED + 0=%d ((word *)p)->first + 0=%ld color_b=%s sizeof(%s)=%d\n",
	       (int)sizeof(word), (int)sizeof(struct word), (int)sizeof(unnamed), (int)sizeof(struct outer), (int)sizeof(union both),
	       RED, (long)((word *)p)->first, OUTER "GREEN", sizeof(DEEP) == 6 ? "DEEP" : "?", (int)sizeof(DEEP));
	return word_b.first + unnamed_b.q[1] + outer_b.in.c[0] + both_b.n + color_b + deep_b.c[0];
}
