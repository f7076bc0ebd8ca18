/* Shared by the parts of the workload; limit.S includes it too. */
#define NCPU 8
#define RING_HDR 4096
#define RING_SIZE 8388608 /* bytes of data, a power of two */
#define RING_SHIFT 25     /* log2 of the distance of two CPUs' rings */
#define REC_SIZE 32       /* header 24, two ints */
#define AHEAD 1024        /* how far before a record its line is fetched */
#define SITES 10000       /* functions of sites.S */
#define CELLS_SHIFT 17    /* log2 of the distance of two CPUs' cells there */

#ifndef __ASSEMBLER__
extern int counter;
int test_function(int counter1, int counter2);
struct pair { int counter1, counter2; };
int test_pointer(struct pair *p);
#endif
