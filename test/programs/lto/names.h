#include <stdio.h>
/* The three files have the same names for different things. Each function first prints
 * what its names mean. */
int fb(int), fc(int);
extern int shared;
