package ebpf

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ir"
)

// valueSet is a set of values.
type valueSet []uint64

func (s valueSet) add(v ir.Value)    { s[v>>6] |= 1 << (v & 63) }
func (s valueSet) remove(v ir.Value) { s[v>>6] &^= 1 << (v & 63) }
func (s valueSet) union(t valueSet) {
	for i := range t {
		s[i] |= t[i]
	}
}

func (s valueSet) each(f func(v ir.Value)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(ir.Value(i<<6 + bits.TrailingZeros64(w)))
		}
	}
}

// liveBehindLoads finds, for each load that may be repeated, the values needed after it on some path.
// (Intervals are larger: they contain values defined on other paths too, and the verifier does not let a
// program save a register that was never written.)
func liveBehindLoads(an *analysis) map[*ir.Instr]valueSet {
	out := map[*ir.Instr]valueSet{}
	in := make([]valueSet, len(an.p.Blocks)) // at the start of each block, parameters left out
	size := (len(an.p.Classes) + numHidden + 63) / 64
	for id := len(an.p.Blocks) - 1; id >= 0; id-- {
		if !an.reach[id] {
			continue
		}
		b := an.p.Blocks[id]
		live := make(valueSet, size)
		use := func(v ir.Value) {
			if int(v) >= len(an.p.Classes) || !an.known[v] {
				live.add(v)
			}
		}
		an.liveOut(b, in, live, use)
		for k := len(b.Instrs); k >= 0; k-- {
			if k < len(b.Instrs) && an.emitted(&b.Instrs[k]) {
				an.liveBefore(&b.Instrs[k], in, live, use, out)
			}
			if ir.BlockID(id) == an.zeroBlock && k == an.zeroIndex {
				live.remove(an.zero())
			}
		}
		for _, v := range b.Params {
			live.remove(v)
		}
		in[id] = live
	}
	return out
}

// liveOut adds what the end of b and its successors use.
func (an *analysis) liveOut(b *ir.Block, in []valueSet, live valueSet, use func(ir.Value)) {
	for _, e := range an.edges(&b.Term) {
		live.union(in[e.To])
		for k, v := range e.Args {
			if an.uses[an.p.Blocks[e.To].Params[k]] > 0 {
				use(v)
			}
		}
	}
	if b.Term.Kind == ir.Branch {
		for _, v := range an.condInputs(b.Term.Cond) {
			use(v)
		}
	}
	for k := range b.Instrs {
		if an.late[&b.Instrs[k]] {
			use(b.Instrs[k].A)
		}
	}
}

// liveBefore goes back over one instruction.
func (an *analysis) liveBefore(i *ir.Instr, in []valueSet, live valueSet, use func(ir.Value), out map[*ir.Instr]valueSet) {
	if f, ok := an.faults(i); ok {
		live.union(in[f])
	}
	if i.Dst != ir.None {
		live.remove(i.Dst)
	}
	if i.Op == ir.Load {
		if i.Fault != ir.NoBlock {
			use(i.A) // for the edge
		}
		out[i] = append(valueSet(nil), live...)
	}
	switch i.Op {
	case ir.Reserve:
		live.remove(an.record())
		live.remove(an.header())
	case ir.Commit:
		if !an.headerKnown() {
			live.add(an.header())
		}
	}
	for _, v := range an.inputs(i) {
		use(v)
	}
	if an.needsContext(i) {
		live.add(an.context())
	}
	if an.needsZero(i) {
		live.add(an.zero())
	}
	if needsRecord(i) {
		live.add(an.record())
	}
}
