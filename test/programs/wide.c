/* Strings of wide characters; the last page of the mapping is not readable. */
#include <string.h>
#include <sys/mman.h>
#include <uchar.h>
#include <wchar.h>

struct named {
	const wchar_t *name;
	char16_t *utf16;
};
typedef wchar_t *wide_pointer;
typedef const char16_t short_char;

#ifdef __cplusplus
typedef const char8_t *byte_text;
#define BYTES u8"bytes"
extern "C"
#else
typedef const unsigned char *byte_text;
#define BYTES (byte_text) "bytes"
#endif
__attribute__((noinline)) int shown(const wchar_t *w, const char16_t *u, const char32_t *U, wide_pointer t,
                                    short_char *s, struct named *n, byte_text b)
{
	__asm__ volatile("" : : "g"(w), "g"(u), "g"(U), "g"(t), "g"(s), "g"(n), "g"(b) : "memory");
	return w != 0;
}

static wchar_t many[300];

int main(void)
{
	struct named n = {L"name", (char16_t *)u"x\u20acy"};
	char *m = (char *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = m + 4096;

	mprotect(end, 4096, PROT_NONE);
	memcpy(end - 10, L"ab", 8);
	for (int i = 0; i < 299; i++)
		many[i] = 'a' + i % 26;
	shown(L"wide \u20ac", u"sixteen \U0001f600 end", U"thirty-two", (wide_pointer)L"", u"ct", &n, BYTES);
	shown(0, (char16_t *)8, (char32_t *)end, (wide_pointer)(end - 10), (char16_t *)(end - 3), 0, 0);
	n.name = (wchar_t *)(end - 3);
	shown(many, u"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", (char32_t *)(end - 2), many + 299, (char16_t *)(end - 10), &n, 0);
	return 0;
}
