package ir

// rewriter walks a program in block order for passes that process one instruction at a time. In that order
// definitions precede uses, so a value replaced once is replaced everywhere.
type rewriter struct {
	p     *Program
	subst []Value // by value: what takes its place; itself when nothing does
	defs  []Instr // by value: what defines it; Op Invalid for parameters
	facts []fact  // by value; exact at every definition passed
	out   []Instr // the new instructions of the present block
	block BlockID
	// scope is maintained if the pass requests it.
	scope   *scope
	changed bool
}

func newRewriter(p *Program) *rewriter {
	rw := &rewriter{p: p, defs: make([]Instr, len(p.Classes)), facts: make([]fact, len(p.Classes))}
	rw.subst = make([]Value, len(p.Classes))
	for v := range rw.subst {
		rw.subst[v] = Value(v)
	}
	return rw
}

// run gives every instruction, operands replaced, to instr, which either keeps
// one (keep) or names another value for its result (replace); and
// every terminator to term, which may change it. Both may be nil.
func (rw *rewriter) run(instr func(i Instr), term func(t *Term)) bool {
	for id, b := range rw.p.Blocks {
		rw.enter(BlockID(id), b)
		for n := range b.Instrs {
			i := b.Instrs[n]
			i.Uses(rw.use)
			if instr == nil {
				rw.keep(i)
			} else {
				instr(i)
			}
		}
		t := &b.Term
		t.Uses(rw.use)
		if term != nil {
			term(t)
		}
		t.edges(rw.leave)
		b.Instrs, rw.out = rw.out, nil
	}
	return rw.changed
}

func (rw *rewriter) enter(id BlockID, b *Block) {
	rw.block = id
	if rw.scope != nil {
		rw.scope.enter(id)
	}
	rw.out = make([]Instr, 0, len(b.Instrs))
}

// use replaces a value by its replacement.
func (rw *rewriter) use(v *Value) { *v = rw.subst[*v] }

// keep appends i to the block.
func (rw *rewriter) keep(i Instr) {
	if i.Fault != NoBlock {
		rw.facts[rw.p.Blocks[i.Fault].Params[0]] = unknownFact
		if rw.scope != nil {
			rw.scope.leave(i.Fault)
		}
	}
	rw.out = append(rw.out, i)
	if i.Dst != None {
		rw.defs[i.Dst] = i
		rw.facts[i.Dst] = rw.factOf(&i)
		if rw.scope != nil {
			rw.scope.define(i.Dst)
		}
	}
}

// replace replaces dst by v in later instructions and drops the definition of dst.
func (rw *rewriter) replace(dst, v Value) {
	rw.subst[dst] = v
	rw.changed = true
}

// emit appends a new instruction before the present one and returns its result.
func (rw *rewriter) emit(c Class, i Instr) Value {
	i.Dst = rw.p.newValue(c)
	rw.subst = append(rw.subst, i.Dst)
	rw.defs = append(rw.defs, Instr{})
	rw.facts = append(rw.facts, fact{})
	rw.keep(i)
	rw.changed = true
	return i.Dst
}

func (rw *rewriter) constant(v int64) Value {
	return rw.emit(I64, Instr{Op: Const, Imm: v, A: None, B: None, Fault: NoBlock})
}

// leave passes facts along an edge.
func (rw *rewriter) leave(e *Edge) {
	params := rw.p.Blocks[e.To].Params
	for k, v := range e.Args {
		rw.facts[params[k]] = rw.facts[params[k]].join(rw.facts[v])
	}
	if rw.scope != nil {
		rw.scope.leave(e.To)
	}
}

// def is the instruction that defines v; Op Invalid for a parameter.
func (rw *rewriter) def(v Value) *Instr { return &rw.defs[v] }

// isConst gives the number when v is a constant.
func (rw *rewriter) isConst(v Value) (int64, bool) {
	if v == None {
		return 0, false
	}
	d := &rw.defs[v]
	return d.Imm, d.Op == Const
}

// is reports whether v is the constant n as an operation of width w sees it.
func (rw *rewriter) is(v Value, w uint8, n int64) bool {
	k, ok := rw.isConst(v)
	return ok && low(w, uint64(k)) == low(w, uint64(n))
}
