/* With HIDDEN, work is not for others. */
#ifdef HIDDEN
static __attribute__((noinline)) int work(int i) { return i + 1000; }
int other(int i) { return work(i); }
#else
int work(int i) { return i + 1; }
#endif
