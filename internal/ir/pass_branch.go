package ir

// branchPass simplifies terminators: branches on constants, on conditions that
// an earlier branch decided, on comparisons with 0, and with two equal ways.
func branchPass(p *Program) bool {
	br := &brancher{folder: folder{newRewriter(p)}, known: make([]map[Value]bool, len(p.Blocks))}
	br.known[0] = map[Value]bool{}
	return br.run(br.watch, br.term)
}

// brancher carries what is decided: known[b] says of conditions whether they
// are true in block b, on every way there. nil: nothing leads there yet.
type brancher struct {
	folder
	known []map[Value]bool
}

// watch keeps each instruction and records what is known where a fault edge leaves.
func (br *brancher) watch(i Instr) {
	if i.Fault != NoBlock {
		br.arrive(i.Fault, br.known[br.block], None, false)
	}
	br.keep(i)
}

// arrive joins the knowledge of one more edge to block to: known, and that
// cond (if not None) is truth.
func (br *brancher) arrive(to BlockID, known map[Value]bool, cond Value, truth bool) {
	have := br.known[to]
	if have == nil {
		have = make(map[Value]bool, len(known)+1)
		for v, t := range known {
			have[v] = t
		}
		if cond != None {
			have[cond] = truth
		}
		br.known[to] = have
		return
	}
	for v, t := range have {
		k, ok := known[v]
		if v == cond {
			k, ok = truth, true
		}
		if !ok || k != t {
			delete(have, v)
		}
	}
}

func (br *brancher) term(t *Term) {
	if t.Kind == Branch {
		br.branch(t)
	}
	known := br.known[br.block]
	switch {
	case t.Kind == Jump:
		br.arrive(t.Then.To, known, None, false)
	case t.Kind == Branch:
		br.arrive(t.Then.To, known, t.Cond, true)
		br.arrive(t.Else.To, known, t.Cond, false)
	}
}

func (br *brancher) branch(t *Term) {
	for br.simplerCond(t) {
		br.changed = true
	}
	truth, ok := br.known[br.block][t.Cond]
	if c, isConst := br.isConst(t.Cond); isConst {
		truth, ok = c != 0, true
	}
	switch {
	case ok && truth, sameEdge(&t.Then, &t.Else):
		br.jump(t, t.Then)
	case ok:
		br.jump(t, t.Else)
	}
}

func (br *brancher) jump(t *Term, e Edge) {
	*t = Term{Kind: Jump, Cond: None, Then: e, Else: Edge{To: NoBlock}}
	br.changed = true
}

// simplerCond makes (x != 0) to x, and (x == 0) to x with the ways exchanged:
// but not when Then is rare, for Unlikely could not say that Else is.
func (br *brancher) simplerCond(t *Term) bool {
	d := br.def(t.Cond)
	if d.Op != Eq && d.Op != Ne || !br.is(d.B, d.W, 0) {
		return false
	}
	if d.W != 8 && br.facts[d.A].u > 8*d.W {
		return false // only the low bytes count
	}
	if d.Op == Eq {
		if t.Unlikely {
			return false
		}
		t.Then, t.Else = t.Else, t.Then
	}
	t.Cond = d.A
	return true
}

func sameEdge(a, b *Edge) bool {
	if a.To != b.To {
		return false
	}
	for k := range a.Args {
		if a.Args[k] != b.Args[k] {
			return false
		}
	}
	return true
}
