package amd64

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
)

// reloadAfterReserve makes the record read values of the stack frame again after Reserve, if the condition has
// read them already. Keeping such a value needs a register that Reserve preserves, and this register must be
// saved and restored even if the condition is false. Reading again costs less, and only at hits. Only the stack
// frame is read twice. Other threads may write other memory in between, and the record would contradict its
// condition.
func reloadAfterReserve(p *ir.Program) *ir.Program {
	at, n, ok := onlyReserve(p)
	if !ok {
		return p
	}
	behind := blocksBehind(p, at, n)
	early := map[ir.Value]ir.Instr{} // defined before, and can be defined again
	for id, b := range p.Blocks {
		for i := range b.Instrs {
			in := &b.Instrs[i]
			if before := !behind[id] && (ir.BlockID(id) != at || i < n); before && repeatable(in, early) {
				early[in.Dst] = *in
			}
		}
	}
	keepWanted(p, at, n, behind, early)
	r := &reloader{early: early, again: map[ir.Value]ir.Value{}}
	r.out = &ir.Program{Name: p.Name, Maps: p.Maps, Classes: slices.Clone(p.Classes), Blocks: make([]*ir.Block, len(p.Blocks))}
	for id, b := range p.Blocks {
		switch {
		case ir.BlockID(id) == at:
			b = r.block(b, n+1)
		case behind[id]:
			b = r.block(b, 0)
		}
		r.out.Blocks[id] = b
	}
	if len(r.loads) == 0 {
		return p
	}
	b := r.out.Blocks[at]
	b.Instrs = slices.Insert(b.Instrs, n+1, r.loads...)
	return r.out
}

// keepWanted removes from early the reads that nothing before Reserve uses: they are not kept over Reserve.
func keepWanted(p *ir.Program, at ir.BlockID, n int, behind []bool, early map[ir.Value]ir.Instr) {
	wanted := map[ir.Value]bool{}
	for id, b := range p.Blocks {
		if behind[id] {
			continue
		}
		list, term := b.Instrs, &b.Term
		if ir.BlockID(id) == at {
			list, term = list[:n], &ir.Term{Cond: ir.None}
		}
		use := func(v *ir.Value) { wanted[*v] = true }
		for i := range list {
			list[i].Uses(use)
		}
		term.Uses(use)
	}
	for v, in := range early {
		if in.Op != ir.Reg && !wanted[v] {
			delete(early, v)
		}
	}
}

// repeatable reports whether in reads the stack frame, or is the register that such a
// read counts from: early has these.
func repeatable(in *ir.Instr, early map[ir.Value]ir.Instr) bool {
	switch in.Op {
	case ir.Reg:
		return in.Imm < 16 && (dwarfGPR[in.Imm] == RBP || dwarfGPR[in.Imm] == RSP)
	case ir.Load, ir.FLoad:
		base, ok := early[in.A]
		return ok && base.Op == ir.Reg && in.Fault == ir.NoBlock
	}
	return false
}

// onlyReserve finds Reserve: instruction n of block at; ok is false if there is none, or more than one.
func onlyReserve(p *ir.Program) (at ir.BlockID, n int, ok bool) {
	for id, b := range p.Blocks {
		for i := range b.Instrs {
			if b.Instrs[i].Op != ir.Reserve {
				continue
			}
			if ok {
				return 0, 0, false
			}
			at, n, ok = ir.BlockID(id), i, true
		}
	}
	return at, n, ok
}

// blocksBehind finds the blocks that are reached by way of instruction n of block at
// only. All edges lead forward.
func blocksBehind(p *ir.Program, at ir.BlockID, n int) []bool {
	reached, otherwise := make([]bool, len(p.Blocks)), make([]bool, len(p.Blocks))
	edge := func(to ir.BlockID, behind bool) {
		if behind {
			reached[to] = true
		} else {
			otherwise[to] = true
		}
	}
	for id, b := range p.Blocks {
		behind := reached[id] && !otherwise[id]
		for i := range b.Instrs {
			if to := b.Instrs[i].Fault; to != ir.NoBlock {
				edge(to, behind || ir.BlockID(id) == at && i > n)
			}
		}
		behind = behind || ir.BlockID(id) == at
		switch b.Term.Kind {
		case ir.Branch:
			edge(b.Term.Else.To, behind)
			edge(b.Term.Then.To, behind)
		case ir.Jump:
			edge(b.Term.Then.To, behind)
		}
	}
	for id := range reached {
		reached[id] = reached[id] && !otherwise[id]
	}
	return reached
}

// reloader rewrites the instructions after Reserve.
type reloader struct {
	early map[ir.Value]ir.Instr
	again map[ir.Value]ir.Value // replacements of early values after Reserve
	loads []ir.Instr            // that define these
	out   *ir.Program
}

// use returns the replacement for v after Reserve.
func (r *reloader) use(v ir.Value) ir.Value {
	in, ok := r.early[v]
	if !ok || in.Op == ir.Reg { // registers are always available
		return v
	}
	if w, ok := r.again[v]; ok {
		return w
	}
	base := r.early[in.A]
	base.Dst = r.value(in.A)
	in.Dst, in.A = r.value(v), base.Dst
	r.loads = append(r.loads, base, in)
	r.again[v] = in.Dst
	return in.Dst
}

// value adds one of the class of like.
func (r *reloader) value(like ir.Value) ir.Value {
	r.out.Classes = append(r.out.Classes, r.out.Classes[like])
	return ir.Value(len(r.out.Classes) - 1)
}

// block rewrites the uses of b from instruction from on.
func (r *reloader) block(b *ir.Block, from int) *ir.Block {
	c := b.Clone()
	use := func(v *ir.Value) { *v = r.use(*v) }
	for i := from; i < len(c.Instrs); i++ {
		c.Instrs[i].Uses(use)
	}
	c.Term.Uses(use)
	return c
}

// splitExits gives every edge to a block that only counts and exits its own copy, so that each exit
// restores exactly what was saved on its path.
func splitExits(p *ir.Program) *ir.Program {
	q := &ir.Program{Name: p.Name, Maps: p.Maps, Classes: p.Classes, Blocks: make([]*ir.Block, len(p.Blocks))}
	for i, b := range p.Blocks {
		c := *b
		q.Blocks[i] = &c
	}
	taken := map[ir.BlockID]bool{}
	fix := func(e *ir.Edge) {
		if !leaf(p.Blocks[e.To]) {
			return
		}
		if taken[e.To] && len(q.Blocks) < 2*len(p.Blocks)+8 {
			c := *p.Blocks[e.To]
			q.Blocks = append(q.Blocks, &c)
			e.To = ir.BlockID(len(q.Blocks) - 1)
			return
		}
		taken[e.To] = true
	}
	for _, b := range q.Blocks[:len(p.Blocks)] {
		if b.Term.Kind == ir.Jump || b.Term.Kind == ir.Branch {
			fix(&b.Term.Then)
		}
		if b.Term.Kind == ir.Branch {
			fix(&b.Term.Else)
		}
	}
	return q
}

func leaf(b *ir.Block) bool {
	if len(b.Params) > 0 || b.Term.Kind != ir.Exit || len(b.Instrs) > 2 {
		return false
	}
	for _, in := range b.Instrs {
		if in.Op != ir.Count {
			return false
		}
	}
	return true
}
