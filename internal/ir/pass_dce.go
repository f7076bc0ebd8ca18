package ir

// dcePass removes operations with unused results: pure operations, reads of variables, and reads of memory
// without a fault edge. A read with a fault edge is kept, because its fault has an effect. Unused parameters
// are removed together with their arguments.
//
// One walk backwards is enough: uses come after definitions in block order.
func dcePass(p *Program) bool {
	live := newBitset(len(p.Classes))
	_, faults := jumpsTo(p)
	changed := false
	for id := len(p.Blocks) - 1; id >= 0; id-- {
		b := p.Blocks[id]
		markTerm(p, &b.Term, faults, live)
		kept := len(b.Instrs)
		for n := len(b.Instrs) - 1; n >= 0; n-- {
			i := b.Instrs[n]
			if i.Dst != None && !live.has(int(i.Dst)) && i.Removable() {
				changed = true
				continue
			}
			i.Uses(func(v *Value) { live.add(int(*v)) })
			kept--
			b.Instrs[kept] = i
		}
		b.Instrs = b.Instrs[kept:]
	}
	return dropDeadParams(p, faults, live) || changed
}

// markTerm marks the condition, and the arguments whose parameters are used. The parameter of a fault block
// stays even if it is not used.
func markTerm(p *Program, t *Term, faults []int, live bitset) {
	if t.Cond != None {
		live.add(int(t.Cond))
	}
	t.edges(func(e *Edge) {
		for k, param := range p.Blocks[e.To].Params {
			if faults[e.To] != 0 || live.has(int(param)) {
				live.add(int(e.Args[k]))
			}
		}
	})
}

func dropDeadParams(p *Program, faults []int, live bitset) bool {
	incoming := make([][]*Edge, len(p.Blocks))
	for _, b := range p.Blocks {
		b.Term.edges(func(e *Edge) { incoming[e.To] = append(incoming[e.To], e) })
	}
	changed := false
	for id, b := range p.Blocks {
		if faults[id] != 0 {
			continue
		}
		drop, some := make([]bool, len(b.Params)), false
		for k, param := range b.Params {
			drop[k] = !live.has(int(param))
			some = some || drop[k]
		}
		if some {
			dropParams(b, incoming[id], drop)
			changed = true
		}
	}
	return changed
}

// compactPass numbers the values in the order of their definitions.
func compactPass(p *Program) bool {
	subst := make([]Value, len(p.Classes))
	var classes []Class
	changed := false
	define := func(v *Value) {
		to := Value(len(classes))
		changed = changed || *v != to
		subst[*v] = to
		classes = append(classes, p.Classes[*v])
		*v = to
	}
	for _, b := range p.Blocks {
		for k := range b.Params {
			define(&b.Params[k])
		}
		for i := range b.Instrs {
			if b.Instrs[i].Dst != None {
				define(&b.Instrs[i].Dst)
			}
		}
	}
	if !changed && len(classes) == len(p.Classes) {
		return false
	}
	applySubst(p, subst)
	p.Classes = classes
	return true
}
