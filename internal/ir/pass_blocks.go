package ir

// unreachablePass removes the blocks that nothing leads to.
func unreachablePass(p *Program) bool {
	reached := make([]bool, len(p.Blocks))
	reached[0] = true
	for id, b := range p.Blocks {
		if !reached[id] {
			continue
		}
		for i := range b.Instrs {
			if f := b.Instrs[i].Fault; f != NoBlock {
				reached[f] = true
			}
		}
		b.Term.edges(func(e *Edge) { reached[e.To] = true })
	}
	return removeBlocks(p, func(id BlockID) bool { return !reached[id] })
}

// mergePass appends a block to its only predecessor when that just jumps to it.
//
// Unreachable blocks go first: there, what is defined in any earlier block may be
// used (see Check), which is not so after the code has moved forward.
func mergePass(p *Program) bool {
	changed := unreachablePass(p)
	edges, faults := jumpsTo(p)
	dead := make([]bool, len(p.Blocks))
	subst := make([]Value, len(p.Classes))
	for v := range subst {
		subst[v] = Value(v)
	}
	for id, b := range p.Blocks {
		for !dead[id] && b.Term.Kind == Jump {
			e := b.Term.Then
			if edges[e.To] != 1 || faults[e.To] != 0 {
				break
			}
			next := p.Blocks[e.To]
			for k, param := range next.Params {
				subst[param] = subst[e.Args[k]]
			}
			b.Instrs = append(b.Instrs, next.Instrs...)
			b.Term = next.Term
			b.Note = joinNotes(b.Note, next.Note)
			dead[e.To] = true
		}
	}
	if !removeBlocks(p, func(id BlockID) bool { return dead[id] }) {
		return changed
	}
	applySubst(p, subst)
	return true
}

func joinNotes(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "" || a == b:
		return a
	}
	return a + "; " + b
}
