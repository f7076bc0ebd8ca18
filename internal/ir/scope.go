package ir

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (s bitset) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }
func (s bitset) add(i int)      { s[i>>6] |= 1 << (i & 63) }

func (s bitset) intersect(t bitset) {
	for i := range s {
		s[i] &= t[i]
	}
}

// clone never returns nil, even for an empty set, because scope.in distinguishes the two.
func (s bitset) clone() bitset { return append(make(bitset, 0, len(s)), s...) }

// scope determines, during a walk of the program in block order, which values are defined on every path to
// the present point: a definition dominates its uses. One walk is exact because all edges lead forward. An
// edge is recorded where it leaves, so a fault edge in the middle of a block carries exactly the values
// defined before it.
type scope struct {
	p       *Program
	in      []bitset // by block; nil until an edge leads there
	now     bitset
	defined bitset // everything defined so far in the walk, for unreachable blocks
	reached bool
}

func newScope(p *Program) *scope {
	s := &scope{p: p, in: make([]bitset, len(p.Blocks)), defined: newBitset(len(p.Classes))}
	if len(p.Blocks) > 0 {
		s.in[0] = newBitset(len(p.Classes))
	}
	return s
}

// enter moves to the start of block b, its parameters defined. In a block
// that no edge reaches (dominance says nothing there) everything defined in
// earlier blocks counts as available.
func (s *scope) enter(b BlockID) {
	s.now, s.in[b] = s.in[b], nil
	s.reached = s.now != nil
	if !s.reached {
		s.now = s.defined.clone()
	}
	for _, v := range s.p.Blocks[b].Params {
		s.define(v)
	}
}

func (s *scope) define(v Value) {
	s.now.add(int(v))
	s.defined.add(int(v))
}

func (s *scope) has(v Value) bool { return s.now.has(int(v)) }

// leave records an edge from the present point to block to.
func (s *scope) leave(to BlockID) {
	switch {
	case !s.reached:
	case s.in[to] == nil:
		s.in[to] = s.now.clone()
	default:
		s.in[to].intersect(s.now)
	}
}

// edges calls f for each edge of t.
func (t *Term) edges(f func(e *Edge)) {
	switch t.Kind {
	case Jump:
		f(&t.Then)
	case Branch:
		f(&t.Then)
		f(&t.Else)
	}
}
