/* A library with thread-local data. With HIDDEN its shared_work is not for others. */
static __thread int pad[3] = { 1, 2, 3 };

#ifdef HIDDEN
static __thread int inlib = 42;
static __attribute__((noinline)) int shared_work(int i) { inlib += 1000 + i + pad[0]; return inlib; }
int other_work(int i) { return shared_work(i); }
#else
__thread int inlib = 42;
__attribute__((noinline)) int shared_work(int i) { inlib += i * pad[0]; return inlib; }
#endif
