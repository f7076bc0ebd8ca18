/* A library with variables of each kind. -DFIRST: the library that comes first. */
#define _GNU_SOURCE
#include <stddef.h>
#ifdef FIRST
struct om_pair { int a; char *text; };
struct om_pair om_copied = {11, "copied"};
int om_alias = 21;
extern int om_other __attribute__((alias("om_alias")));
__thread int om_thread = 31;
__attribute__((visibility("hidden"))) int om_hidden = 41;
static int om_only = 51;
static int om_twice = 61;
int om_both = 71;
int om_replaced = 81;
void om_first(void) { om_only++, om_hidden++, om_twice++, om_thread++, om_copied.a++, om_alias++; }
#else
static int om_twice = 62;
int om_both = 72;
void om_second(void) { om_twice++; }
#endif
