#include <vector>
struct node { long key; node *next; node *in_edge() const; long weight(int by) const { long sum = key * by; return sum + (next ? next->key : 0); } };
inline node *node::in_edge() const { return next; }
long other(std::vector<node> &list);
