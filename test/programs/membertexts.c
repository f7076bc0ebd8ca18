// Structs with pointers to characters: set, null, bad, in arrays, unions and inner structs.
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct inner {
	const char *first;
	char *last;
	char buf[8];
};
struct item {
	int id;
	const char *name;
	unsigned char *bytes;
	const wchar_t *wide;
	struct inner in;
	const char *list[3];
	union {
		char *text;
		long number;
		double real;
	} u;
	union {
		char *text;
		unsigned char *raw;
	} v;
	struct item *next;
	char *bad;
	char *high;
};

__attribute__((noinline)) static int look(const struct item *p, struct inner by)
{
	__asm__ volatile("" ::"r"(p), "m"(by) : "memory");
	return p->id; // look here
}

int main(void)
{
	static char longer[400];
	memset(longer, 'a', 300);
	memcpy(longer + 150, "middle", 6);
	struct item one = {
		.id = 1, .name = "one", .bytes = (unsigned char *)"b\xff\tz", .wide = L"wide", .in = {"in first", NULL, "buf"},
		.list = {"x", NULL, "z"}, .u = {.number = 7}, .v = {.text = "in the union"}, .next = NULL, .bad = (char *)16, .high = (char *)-8L,
	};
	struct item two = {.id = 2, .name = longer, .in = {"", "last", "12345678"}, .u = {.number = 42}, .next = &one};
	struct item three = {.id = 3, .name = "three", .u = {.real = -1.5}, .next = &two};
	look(&one, one.in);
	look(&two, two.in);
	look(&three, three.in);
	return 0;
}
