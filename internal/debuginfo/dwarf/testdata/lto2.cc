#include "ltonode.h"
__attribute__((noinline)) long other(std::vector<node> &list) { long s = 0; for (auto &n : list) if (n.in_edge()) s += n.in_edge()->weight(3) + n.weight(2); return s; }
