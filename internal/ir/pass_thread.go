package ir

// threadPass leads edges past empty blocks: where such a block jumps on, exits,
// or branches on something that is known on this edge (a constant argument,
// the condition of the branch the edge comes from), the edge goes there at once.
// As for mergePass, unreachable blocks go first.
func threadPass(p *Program) bool {
	changed := unreachablePass(p)
	th := &threader{p: p, consts: constants(p), escapes: escapes(p), changed: changed}
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			th.fault(&b.Instrs[i])
		}
		th.term(&b.Term)
	}
	return th.changed
}

type threader struct {
	p       *Program
	consts  map[Value]int64
	escapes []bool
	changed bool
}

// constants gives the integer constants of p.
func constants(p *Program) map[Value]int64 {
	m := map[Value]int64{}
	for _, b := range p.Blocks {
		for _, i := range b.Instrs {
			if i.Op == Const {
				m[i.Dst] = i.Imm
			}
		}
	}
	return m
}

// escapes reports for each block whether its parameters are used outside it. If so, the block must stay on
// every path to these uses.
func escapes(p *Program) []bool {
	home := make([]int, len(p.Classes))
	for id, b := range p.Blocks {
		for _, v := range b.Params {
			home[v] = id + 1
		}
	}
	out := make([]bool, len(p.Blocks))
	for id, b := range p.Blocks {
		b.Uses(func(v *Value) {
			if h := home[*v]; h != 0 && h != id+1 {
				out[h-1] = true
			}
		})
	}
	return out
}

// passable reports whether edges may be led past block id.
func (th *threader) passable(id BlockID) bool {
	return len(th.p.Blocks[id].Instrs) == 0 && !th.escapes[id]
}

func (th *threader) term(t *Term) {
	switch t.Kind {
	case Jump:
		for th.edge(&t.Then, None, false) {
		}
		th.intoTerm(t)
	case Branch:
		cond := t.Cond
		for th.edge(&t.Then, cond, true) {
		}
		for th.edge(&t.Else, cond, false) {
		}
		if th.exits(t.Then.To) && th.exits(t.Else.To) {
			th.changed = true
			*t = Term{Kind: Exit, Cond: None, Then: Edge{To: NoBlock}, Else: Edge{To: NoBlock}}
		}
	}
}

// intoTerm takes over the terminator of an empty block that t jumps to, when
// it is an exit or a branch.
func (th *threader) intoTerm(t *Term) {
	to := t.Then.To
	if !th.passable(to) {
		return
	}
	next := th.p.Blocks[to]
	in := t.Then
	*t = next.Term
	if t.Kind == Branch {
		t.Cond = through(next, &in, t.Cond)
		t.Then = throughEdge(next, &in, &next.Term.Then)
		t.Else = throughEdge(next, &in, &next.Term.Else)
	}
	th.changed = true
}

// exits reports whether block id does nothing and leaves.
func (th *threader) exits(id BlockID) bool {
	b := th.p.Blocks[id]
	return len(b.Instrs) == 0 && b.Term.Kind == Exit
}

// edge moves e one block on, if it can. On e, cond (if not None) is truth.
func (th *threader) edge(e *Edge, cond Value, truth bool) bool {
	if !th.passable(e.To) {
		return false
	}
	b := th.p.Blocks[e.To]
	switch b.Term.Kind {
	case Jump:
		*e = throughEdge(b, e, &b.Term.Then)
	case Branch:
		c := through(b, e, b.Term.Cond)
		n, isConst := th.consts[c]
		switch {
		case isConst:
			truth = n != 0
		case c != cond || cond == None:
			return false
		}
		way := &b.Term.Else
		if truth {
			way = &b.Term.Then
		}
		*e = throughEdge(b, e, way)
	default:
		return false
	}
	th.changed = true
	return true
}

// through returns value v of block b for control that entered by edge in.
func through(b *Block, in *Edge, v Value) Value {
	for k, param := range b.Params {
		if param == v {
			return in.Args[k]
		}
	}
	return v
}

func throughEdge(b *Block, in, out *Edge) Edge {
	e := Edge{To: out.To}
	for _, v := range out.Args {
		e.Args = append(e.Args, through(b, in, v))
	}
	return e
}

// fault moves a fault edge past blocks that only hand the address on.
func (th *threader) fault(i *Instr) {
	for i.Fault != NoBlock && th.passable(i.Fault) {
		b := th.p.Blocks[i.Fault]
		t := &b.Term
		if t.Kind != Jump || len(t.Then.Args) != 1 || t.Then.Args[0] != b.Params[0] {
			return
		}
		i.Fault = t.Then.To
		th.changed = true
	}
}
