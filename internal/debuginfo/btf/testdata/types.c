// Types in every shape that C has, each used by the function anchor.
typedef unsigned char u8;
typedef unsigned long long u64;
typedef _Bool bool_t;
typedef __int128 i128;
typedef unsigned __int128 u128;

enum color { RED, GREEN = 5, BLUE };
enum sign { MINUS = -1, ZERO, PLUS };
#if !defined __clang__ || __clang_major__ >= 15 // older ones cut the constants off
#define WIDE
enum wide { SMALL = 1, LARGE = 0x123456789abcULL };
enum wide_sign { DEEP = -0x123456789abcLL, HIGH = 7 };
#endif

struct declared;
struct node {
	struct node *next, **tail;
	struct declared *opaque;
	union either *other;
};
union either {
	int i;
	u8 bytes[8];
	struct node *n;
	const char *const name;
};
struct scalars {
	char c;
	signed char sc;
	unsigned char uc;
	bool_t b;
	short s;
	unsigned short us;
	int i;
	unsigned int ui;
	long l;
	unsigned long ul;
	long long ll;
	u64 ull;
	i128 big;
	u128 ubig;
	float f;
	double d;
	enum color e;
	enum sign sg;
#ifdef WIDE
	enum wide w;
	enum wide_sign ws;
#endif
	volatile int vi;
	const volatile u64 *cv;
};
struct bits {
	unsigned a : 1;
	int b : 3;
	unsigned : 4;
	unsigned c : 20;
	u64 d : 40;
	bool_t e : 1;
	enum color f : 4;
	u8 g : 7;
	long h : 64;
	const unsigned i : 5;
};
struct anonymous {
	int a;
	union {
		int b;
		struct {
			short c, d;
		};
	};
	struct {
		int e : 4, f : 28;
	};
	struct {
		int inner;
	} named;
};
struct arrays {
	int one[3];
	int two[2][3];
	u8 *pointers[4];
	struct node nodes[2];
	int none[0];
	struct {
		int x;
	} behind[];
};
struct packed {
	u8 a;
	int b;
	u64 c : 33;
	u8 d;
} __attribute__((packed));
struct aligned {
	u8 a;
	int b __attribute__((aligned(16)));
};
typedef int (*compare_t)(const void *, const void *);
typedef void (*printer_t)(const char *restrict format, ...);
struct ops {
	compare_t compare;
	printer_t print;
	struct node *(*find)(struct node *head, union either key);
	int (*none)(void);
	void (*table[3])(int);
};

struct all {
	struct node node;
	union either either;
	struct scalars scalars;
	struct bits bits;
	struct anonymous anonymous;
	struct packed packed;
	struct aligned aligned;
	struct ops ops;
	struct arrays arrays;
};
struct all all;

int anchor(struct all *a) { return a == &all; }
