package ir

// paramsPass removes the parameters to which every edge passes the same: one value,
// or equal constants.
func paramsPass(p *Program) bool {
	incoming := make([][]*Edge, len(p.Blocks))
	for _, b := range p.Blocks {
		b.Term.edges(func(e *Edge) { incoming[e.To] = append(incoming[e.To], e) })
	}
	_, faults := jumpsTo(p)
	defs := constInstrs(p)
	subst := make([]Value, len(p.Classes))
	for v := range subst {
		subst[v] = Value(v)
	}
	changed := false
	for id, b := range p.Blocks {
		if faults[id] != 0 || len(incoming[id]) == 0 {
			continue
		}
		drop, some := make([]bool, len(b.Params)), false
		for k, param := range b.Params {
			v, same := sameArg(incoming[id], k, subst)
			switch {
			case same:
				subst[param] = v
			case sameConst(incoming[id], k, defs):
				i := defs[incoming[id][0].Args[k]]
				i.Dst = p.newValue(p.Classes[param])
				b.Instrs = append([]Instr{i}, b.Instrs...)
				subst = append(subst, i.Dst)
				defs[i.Dst] = i
				subst[param] = i.Dst
			default:
				continue
			}
			drop[k], some = true, true
		}
		if some {
			dropParams(b, incoming[id], drop)
			changed = true
		}
	}
	if changed {
		applySubst(p, subst)
	}
	return changed
}

// constInstrs gives the definitions of the constants of any class.
func constInstrs(p *Program) map[Value]Instr {
	m := map[Value]Instr{}
	for _, b := range p.Blocks {
		for _, i := range b.Instrs {
			if i.Op == Const || i.Op == FConst {
				m[i.Dst] = i
			}
		}
	}
	return m
}

// sameArg gives the value that every edge passes as argument k, if it is one. It is
// defined before each of the edges, so it is defined in their target.
func sameArg(in []*Edge, k int, subst []Value) (Value, bool) {
	v := subst[in[0].Args[k]]
	for _, e := range in[1:] {
		if subst[e.Args[k]] != v {
			return None, false
		}
	}
	return v, true
}

func sameConst(in []*Edge, k int, defs map[Value]Instr) bool {
	first, ok := defs[in[0].Args[k]]
	for _, e := range in {
		d, isConst := defs[e.Args[k]]
		if !isConst || d.Imm != first.Imm {
			return false
		}
	}
	return ok
}

// dropParams removes parameters of b and the arguments of the edges to it. New
// slices, because edges may share theirs.
func dropParams(b *Block, in []*Edge, drop []bool) {
	keep := func(vs []Value) []Value {
		var out []Value
		for k, v := range vs {
			if !drop[k] {
				out = append(out, v)
			}
		}
		return out
	}
	for _, e := range in {
		e.Args = keep(e.Args)
	}
	b.Params = keep(b.Params)
}
