/* What print formats use, for gcc: an evaluation of the same expressions that
 * shares nothing with the package. Read from standard input: the number of an
 * event (4 bytes) and a record, again and again. Written: a line for each. */
typedef unsigned char u8, __u8, uint8_t;
typedef signed char s8, __s8, int8_t;
typedef unsigned short u16, __u16, uint16_t;
typedef short s16, __s16, int16_t;
typedef unsigned int u32, __u32, uint32_t, uint, gfp_t;
typedef int s32, __s32, int32_t, __kernel_rwf_t;
typedef unsigned long long u64, __u64, uint64_t;
typedef long long s64, __s64, int64_t, loff_t;
typedef unsigned long size_t;
typedef _Bool bool;
#define NULL ((void *)0)

extern int printf(const char *, ...);
extern int sprintf(char *, const char *, ...);
extern long read(int, void *, size_t);

struct page { char bytes[64]; };
static unsigned long vmemmap_base = 0xffffea0000000000UL, jiffies = 4295000000UL;

/* Texts that the helpers make, one after the other. */
static char seq[1 << 20], *seq_end;
static char *rec_start;
extern char __executable_start, end;

static void text(const char *s)
{
	printf(" t:");
	while (*s)
		printf("%02x", (u8)*s++);
}

static void show(unsigned long long n, int is_string)
{
	char *s = (char *)n;

	if (s >= rec_start && s <= rec_start + RECORD)
		printf(" rec+%d", (int)(s - rec_start));
	else if (is_string && s >= seq && s < seq + sizeof(seq))
		text(s);
	else if (is_string && s >= &__executable_start && s < &end)
		text(s);
	else
		printf(" %llx", n);
}
#define SHOW(x) show((unsigned long long)(x), _Generic((x), char *: 1, const char *: 1, default: 0));

struct entry { unsigned long mask; const char *name; };

static const char *print_flags(unsigned long flags, const char *delim, const struct entry *t)
{
	char *out = seq_end, *p = seq_end;
	int first = 1;

	*p = 0;
	for (; t->name && flags; t++) {
		if ((flags & t->mask) != t->mask)
			continue;
		flags &= ~t->mask;
		p += sprintf(p, "%s%s", first ? "" : delim, t->name);
		first = 0;
	}
	if (flags)
		p += sprintf(p, "%s0x%lx", first ? "" : delim, flags);
	seq_end = p + 1;
	return out;
}

static const char *print_symbolic(unsigned long val, const struct entry *t)
{
	char *out = seq_end, *p = seq_end;

	*p = 0;
	for (; t->name; t++) {
		if (t->mask == val) {
			p += sprintf(p, "%s", t->name);
			break;
		}
	}
	if (p == out)
		p += sprintf(p, "0x%lx", val);
	seq_end = p + 1;
	return out;
}

#define __print_flags(flag, delim, ...) \
	({ static const struct entry t[] = { __VA_ARGS__, { -1UL, NULL } }; print_flags(flag, delim, t); })
#define __print_symbolic(val, ...) \
	({ static const struct entry t[] = { __VA_ARGS__, { -1UL, NULL } }; print_symbolic(val, t); })

static const char *print_bytes(const void *buf, int len, const char *sep)
{
	char *out = seq_end, *p = seq_end;
	int i;

	*p = 0;
	for (i = 0; i < len; i++)
		p += sprintf(p, "%s%02x", i ? sep : "", ((const u8 *)buf)[i]);
	seq_end = p + 1;
	return out;
}
#define __print_hex(buf, len) print_bytes(buf, len, " ")
#define __print_hex_str(buf, len) print_bytes(buf, len, "")

static const char *print_array(const void *buf, int count, size_t size)
{
	char *out = seq_end, *p = seq_end;
	const u8 *b = buf;
	int i;

	p += sprintf(p, "{");
	for (i = 0; i < count; i++, b += size)
		p += sprintf(p, "%s0x%llx", i ? "," : "",
			     size == 1 ? *b : size == 2 ? *(u16 *)b : size == 4 ? *(u32 *)b : *(u64 *)b);
	p += sprintf(p, "}");
	seq_end = p + 1;
	return out;
}
#define __print_array print_array

static const char *print_bitmask(const u8 *b, int size)
{
	char *out = seq_end, *p = seq_end;
	int i;

	*p = 0;
	/* The sizes that the test makes are whole words of 32 bits. */
	for (i = size / 4 - 1; i >= 0; i--)
		p += sprintf(p, "%08x%s", ((const u32 *)b)[i], i ? "," : "");
	seq_end = p + 1;
	return out;
}

#define __get_dynamic_array(name) ((void *)((char *)REC + (REC->__data_loc_##name & 0xffff)))
#define __get_dynamic_array_len(name) ((REC->__data_loc_##name >> 16) & 0xffff)
#define __get_str(name) ((char *)__get_dynamic_array(name))
#define __get_bitmask(name) print_bitmask(__get_dynamic_array(name), __get_dynamic_array_len(name))
#define __get_cpumask(name) __get_bitmask(name)

static unsigned int jiffies_to_msecs(unsigned long j)
{
	return 1000 / 250 * j;
}

static const char *mc_event_error_type(unsigned int type)
{
	switch (type) {
	case 0: return "Corrected";
	case 1: return "Uncorrected";
	case 2: return "Deferred";
	case 3: return "Fatal";
	}
	return "Info";
}
