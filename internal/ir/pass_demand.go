package ir

// demandPass computes in 4 bytes if only these are used. (The low bytes of a sum or product depend only on the
// low bytes of the operands.) Extensions before and between are then redundant, and narrow removes them.
func demandPass(p *Program) bool {
	need := demands(p)
	rw := newRewriter(p)
	return rw.run(func(i Instr) {
		if i.W == 8 && modular(rw, &i) && need[i.Dst] <= 4 {
			i.W = 4
			rw.changed = true
		}
		rw.keep(i)
	}, nil)
}

// modular reports whether the low 4 bytes of the result of i are those that the
// operation of width 4 gives.
func modular(rw *rewriter, i *Instr) bool {
	if i.Op == Shl {
		k, ok := rw.isConst(i.B)
		return ok && count(8, uint64(k)) < 32
	}
	return i.Op.Info().Low
}

// demands returns the number of low bytes of each value that are used. It goes backwards, because uses come
// after definitions in block order.
func demands(p *Program) []uint8 {
	need := make([]uint8, len(p.Classes))
	want := func(v Value, n uint8) {
		if v != None {
			need[v] = max(need[v], n)
		}
	}
	_, faults := jumpsTo(p)
	for id := len(p.Blocks) - 1; id >= 0; id-- {
		b := p.Blocks[id]
		want(b.Term.Cond, 8)
		b.Term.edges(func(e *Edge) {
			for k, param := range p.Blocks[e.To].Params {
				n := need[param]
				if faults[e.To] != 0 {
					n = 8
				}
				want(e.Args[k], n)
			}
		})
		for k := len(b.Instrs) - 1; k >= 0; k-- {
			i := &b.Instrs[k]
			x, y := seen(i)
			switch {
			case i.Op == Shl, i.Op == SExt, i.Op == ZExt:
				x = min(x, need[i.Dst])
			case i.Op.Info().Low:
				x, y = min(x, need[i.Dst]), min(y, need[i.Dst])
			}
			want(i.A, x)
			want(i.B, y)
		}
	}
	return need
}
