package ir

// countUses counts the operands and arguments that name each value.
func countUses(p *Program) []int {
	n := make([]int, len(p.Classes))
	for _, b := range p.Blocks {
		b.operands(func(v Value) { n[v]++ })
	}
	return n
}

// operands calls f for each use of a value in b.
func (b *Block) operands(f func(v Value)) {
	for i := range b.Instrs {
		for _, v := range [2]Value{b.Instrs[i].A, b.Instrs[i].B} {
			if v != None {
				f(v)
			}
		}
	}
	if b.Term.Cond != None {
		f(b.Term.Cond)
	}
	b.Term.edges(func(e *Edge) {
		for _, v := range e.Args {
			f(v)
		}
	})
}

// applySubst replaces each v by subst[v].
func applySubst(p *Program, subst []Value) {
	at := func(v *Value) {
		if *v != None {
			*v = subst[*v]
		}
	}
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			at(&b.Instrs[i].A)
			at(&b.Instrs[i].B)
		}
		at(&b.Term.Cond)
		b.Term.edges(func(e *Edge) {
			for k := range e.Args {
				at(&e.Args[k])
			}
		})
	}
}

// jumpsTo counts the edges to each block: those of terminators, and fault edges.
func jumpsTo(p *Program) (edges, faults []int) {
	edges, faults = make([]int, len(p.Blocks)), make([]int, len(p.Blocks))
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			if f := b.Instrs[i].Fault; f != NoBlock {
				faults[f]++
			}
		}
		b.Term.edges(func(e *Edge) { edges[e.To]++ })
	}
	return edges, faults
}

// removeBlocks drops the blocks that are dead and renumbers the others in
// order. Nothing may lead to a dead block.
func removeBlocks(p *Program, dead func(id BlockID) bool) bool {
	renumber := make([]BlockID, len(p.Blocks))
	kept := make([]*Block, 0, len(p.Blocks))
	for id, b := range p.Blocks {
		renumber[id] = NoBlock
		if !dead(BlockID(id)) {
			renumber[id] = BlockID(len(kept))
			kept = append(kept, b)
		}
	}
	if len(kept) == len(p.Blocks) {
		return false
	}
	for _, b := range kept {
		for i := range b.Instrs {
			if f := &b.Instrs[i].Fault; *f != NoBlock {
				*f = renumber[*f]
			}
		}
		b.Term.edges(func(e *Edge) { e.To = renumber[e.To] })
	}
	p.Blocks = kept
	return true
}
