#include "ltonode.h"
int main(int argc, char **argv) { std::vector<node> list(3); for (int i = 0; i < 3; i++) list[i] = {i + argc, i ? &list[i - 1] : nullptr}; long s = 0; for (auto &n : list) s += n.weight(argc) + (n.in_edge() != nullptr); return s + other(list) == 0; }
