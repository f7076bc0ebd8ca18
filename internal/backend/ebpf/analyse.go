package ebpf

import "github.com/jalon-trace/jalon/internal/ir"

// analysis is the information about a program before code is generated.
type analysis struct {
	p        *ir.Program
	c        *Config
	def      []*ir.Instr // by value; nil for block parameters
	known    []bool      // by value: a constant, whose number is in value
	value    []uint64
	reach    []bool // by block
	uses     []int  // by value, among what is emitted
	fused    []bool // by value: a comparison done by the branch that uses it
	keyWords int    // of the largest key on the stack
	// sizes are the different sizes that Reserve is called with.
	sizes map[int64]bool
	// late are the Results that are left in a register for the Exit of their block.
	late map[*ir.Instr]bool
	// pidTgid has, for a Reserve, the value that already contains pid_tgid.
	pidTgid map[*ir.Instr]ir.Value
	// slotResult: other Results are kept on the stack.
	slotResult bool
	// zeroBlock and zeroIndex are the instruction before which the pointer to address 0 is made; NoBlock:
	// it is not needed.
	zeroBlock ir.BlockID
	zeroIndex int
}

func analyse(p *ir.Program, c *Config) *analysis {
	n := len(p.Classes)
	an := &analysis{
		p: p, c: c,
		def: make([]*ir.Instr, n), known: make([]bool, n), value: make([]uint64, n),
		reach: make([]bool, len(p.Blocks)), uses: make([]int, n), fused: make([]bool, n),
		sizes: map[int64]bool{}, late: map[*ir.Instr]bool{},
	}
	for _, m := range p.Maps {
		if m.More > 0 {
			an.keyWords = max(an.keyWords, 2+m.More)
		}
	}
	an.constants()
	an.reachable()
	an.findWho()
	an.countUses()
	an.fuse()
	an.results()
	an.placeZero()
	return an
}

// constants finds the values that are numbers, and computes operations on numbers only.
func (an *analysis) constants() {
	for _, b := range an.p.Blocks {
		for k := range b.Instrs {
			in := &b.Instrs[k]
			if in.Dst == ir.None {
				continue
			}
			an.def[in.Dst] = in
			if in.Op == ir.Const {
				an.known[in.Dst], an.value[in.Dst] = true, uint64(in.Imm)
				continue
			}
			if in.A == ir.None || !an.known[in.A] || in.B != ir.None && !an.known[in.B] {
				continue
			}
			bv := uint64(0)
			if in.B != ir.None {
				bv = an.value[in.B]
			}
			an.value[in.Dst], an.known[in.Dst] = ir.Compute(in.Op, in.W, ir.I64, an.value[in.A], bv)
		}
	}
}

// number gives the constant that v is.
func (an *analysis) number(v ir.Value) (uint64, bool) {
	if v == ir.None || !an.known[v] {
		return 0, false
	}
	return an.value[v], true
}

// edges are the edges of t that can be taken.
func (an *analysis) edges(t *ir.Term) []*ir.Edge {
	switch t.Kind {
	case ir.Jump:
		return []*ir.Edge{&t.Then}
	case ir.Branch:
		if k, ok := an.number(t.Cond); ok {
			if k != 0 {
				return []*ir.Edge{&t.Then}
			}
			return []*ir.Edge{&t.Else}
		}
		return []*ir.Edge{&t.Then, &t.Else}
	}
	return nil
}

// faults gives the block that in may lead to.
func (an *analysis) faults(in *ir.Instr) (ir.BlockID, bool) {
	if in.Fault == ir.NoBlock {
		return ir.NoBlock, false
	}
	if in.Op.Info().Record && in.Aux == 0 { // it copies nothing
		return ir.NoBlock, false
	}
	if _, ok := an.contextCopy(in); ok {
		return ir.NoBlock, false
	}
	return in.Fault, true
}

func (an *analysis) reachable() {
	an.reach[0] = true
	for id, b := range an.p.Blocks {
		if !an.reach[id] {
			continue
		}
		for k := range b.Instrs {
			if f, ok := an.faults(&b.Instrs[k]); ok {
				an.reach[f] = true
			}
			if in := &b.Instrs[k]; in.Op == ir.Reserve {
				an.sizes[in.Imm] = true
			}
		}
		for _, e := range an.edges(&b.Term) {
			an.reach[e.To] = true
		}
	}
}

// countUses goes backwards, so operands of unused values are not counted.
func (an *analysis) countUses() {
	for id := len(an.p.Blocks) - 1; id >= 0; id-- {
		if !an.reach[id] {
			continue
		}
		b := an.p.Blocks[id]
		for _, e := range an.edges(&b.Term) {
			for k, v := range e.Args {
				if an.uses[an.p.Blocks[e.To].Params[k]] > 0 {
					an.uses[v]++
				}
			}
		}
		if _, known := an.number(b.Term.Cond); b.Term.Kind == ir.Branch && !known {
			an.uses[b.Term.Cond]++
		}
		for k := len(b.Instrs) - 1; k >= 0; k-- {
			in := &b.Instrs[k]
			if an.emitted(in) {
				for _, v := range an.inputs(in) {
					an.uses[v]++
				}
			}
		}
	}
}

// results decides where each Result is kept: the last one before an Exit stays
// where its value is, if the program cannot be left between; one that is
// replaced by such a one is nothing; the others go to the stack.
func (an *analysis) results() {
	for id, b := range an.p.Blocks {
		if !an.reach[id] {
			continue
		}
		straight, replaced := b.Term.Kind == ir.Exit, false
		for k := len(b.Instrs) - 1; k >= 0; k-- {
			in := &b.Instrs[k]
			if _, ok := an.faults(in); ok || in.Op == ir.Reserve {
				straight, replaced = false, false
			}
			switch {
			case in.Op != ir.Result || replaced:
			case straight:
				an.late[in] = true
				replaced = true
			default:
				an.slotResult = true
			}
		}
	}
}
