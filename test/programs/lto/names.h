#include <stdio.h>
/* The three files have the same names for different things. Each function first prints
 * the values of its names. */
int fb(int), fc(int);
extern int shared;
