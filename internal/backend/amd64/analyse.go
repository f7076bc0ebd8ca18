package amd64

import (
	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// defSite says where a value is defined: instruction idx of a block, or -1 for a
// parameter. block is NoBlock for values never defined in a reachable block.
type defSite struct {
	block ir.BlockID
	idx   int
}

// amode is an address or a sum: base + index*scale + disp. A scale of 3, 5 or 9
// is index*(scale-1) with the index as base too.
type amode struct {
	base, index ir.Value
	scale       uint8
	disp        int32
}

// analysis is the information about a program before registers are chosen.
type analysis struct {
	p     *ir.Program
	reach []bool
	preds [][]ir.BlockID
	// effect: the block has a visible effect. behind: such a block may have run before it.
	effect, behind []bool
	def            []defSite
	uses           []int
	// folded values are computed inside the instruction that uses them.
	folded []bool
	// dead values have no use and no effect.
	dead []bool
	// modes holds the address of a load and the sum of an addition.
	modes map[*ir.Instr]amode

	regReads  regSet // program registers that the program reads (general and xmm)
	readFlags bool
	reserves  int
	sizes     map[int64]bool    // sizes of the Reserves
	guarded   bool              // some access may fault
	keyWords  int               // words of keys that are in the frame
	always    map[ir.Value]bool // slots that are never none
	ticks     bool              // the time stamp counter is read beside the records' stamps
}

func analyse(p *ir.Program) *analysis {
	an := &analysis{
		p:     p,
		reach: make([]bool, len(p.Blocks)), preds: make([][]ir.BlockID, len(p.Blocks)),
		effect: make([]bool, len(p.Blocks)), behind: make([]bool, len(p.Blocks)),
		def: make([]defSite, len(p.Classes)), uses: make([]int, len(p.Classes)),
		folded: make([]bool, len(p.Classes)), dead: make([]bool, len(p.Classes)),
		modes: map[*ir.Instr]amode{}, sizes: map[int64]bool{}, always: map[ir.Value]bool{},
	}
	an.scan()
	an.markDead()
	for b := range p.Blocks {
		if an.reach[b] {
			an.foldBlock(ir.BlockID(b))
		}
	}
	return an
}

func (an *analysis) scan() {
	for v := range an.def {
		an.def[v] = defSite{ir.NoBlock, -1}
	}
	an.reach[0] = true
	for b, blk := range an.p.Blocks {
		if !an.reach[b] {
			continue
		}
		id := ir.BlockID(b)
		for _, a := range an.preds[b] {
			an.behind[b] = an.behind[b] || an.behind[a] || an.effect[a]
		}
		for _, v := range blk.Params {
			an.def[v] = defSite{id, -1}
		}
		for i := range blk.Instrs {
			an.scanInstr(id, i, &blk.Instrs[i])
		}
		an.scanTerm(id, &blk.Term)
	}
}

func (an *analysis) edgeTo(from, to ir.BlockID) {
	an.reach[to] = true
	an.preds[to] = append(an.preds[to], from)
}

func (an *analysis) scanInstr(b ir.BlockID, idx int, in *ir.Instr) {
	an.effect[b] = an.effect[b] || in.Op.HasEffect()
	if in.Dst != ir.None && !in.Op.HasEffect() {
		an.def[in.Dst] = defSite{b, idx}
	}
	in.Uses(func(v *ir.Value) { an.uses[*v]++ })
	switch {
	case in.Op == ir.KeyWord:
		an.keyWords = max(an.keyWords, int(in.Imm)+1-2)
	case in.Op == ir.KeyText:
		an.keyWords = max(an.keyWords, int(in.Imm+(in.Aux+7)/8)-2)
	case in.Op == ir.MapSlot && an.p.Maps[in.Aux].Single:
		an.always[in.Dst] = true
	}
	if in.Op == ir.StrEq || in.Op == ir.CopyStr || in.Op == ir.KeyText {
		an.guarded = true // read by words, which may reach past the string
	}
	if info := in.Op.Info(); info.Reads && !info.MayFault {
		an.guarded = true // it may fault, and continues after itself
	}
	if in.Fault != ir.NoBlock {
		an.guarded = true
		an.edgeTo(b, in.Fault)
	}
	switch in.Op {
	case ir.Reg:
		switch {
		case in.Imm < 16:
			an.regReads.add(item(dwarfGPR[in.Imm]))
		case in.Imm == ir.RegFlags:
			an.readFlags = true
		}
	case ir.Ticks:
		an.ticks = true
	case ir.FReg:
		an.regReads.add(itemXMM + item(in.Imm))
	case ir.PutReg:
		if in.Aux < x86.UpperYMM {
			an.regReads.add(itemXMM + item(in.Aux))
		}
	case ir.Reserve:
		an.reserves++
		an.sizes[in.Imm] = true
	}
}

func (an *analysis) scanTerm(b ir.BlockID, t *ir.Term) {
	if t.Kind == ir.Branch {
		an.uses[t.Cond]++
	}
	for _, e := range edges(t) {
		for _, v := range e.Args {
			an.uses[v]++
		}
		an.edgeTo(b, e.To)
	}
}

// edges returns the edges of t in use.
func edges(t *ir.Term) []*ir.Edge {
	switch t.Kind {
	case ir.Jump:
		return []*ir.Edge{&t.Then}
	case ir.Branch:
		return []*ir.Edge{&t.Then, &t.Else}
	}
	return nil
}

// markDead finds values without use whose computation has no effect, and
// releases their operands in turn. A load that may fault stays: its fault is seen.
func (an *analysis) markDead() {
	for b := len(an.p.Blocks) - 1; b >= 0; b-- {
		if !an.reach[b] {
			continue
		}
		ins := an.p.Blocks[b].Instrs
		for i := len(ins) - 1; i >= 0; i-- {
			in := &ins[i]
			if !in.Removable() || an.uses[in.Dst] > 0 {
				continue
			}
			an.dead[in.Dst] = true
			in.Uses(func(v *ir.Value) { an.uses[*v]-- })
		}
	}
}

// instr returns the instruction that defines v, or nil for a parameter.
func (an *analysis) instr(v ir.Value) *ir.Instr {
	if v == ir.None {
		return nil
	}
	d := an.def[v]
	if d.block == ir.NoBlock || d.idx < 0 {
		return nil
	}
	return &an.p.Blocks[d.block].Instrs[d.idx]
}

// constant returns the value of v when it is a constant.
func (an *analysis) constant(v ir.Value) (int64, bool) {
	if in := an.instr(v); in != nil && in.Op == ir.Const {
		return in.Imm, true
	}
	return 0, false
}

// rematerialised values never get a register of their own: constants, and
// program registers, which are where they are.
func (an *analysis) remat(v ir.Value) bool {
	in := an.instr(v)
	if in == nil {
		return false
	}
	switch in.Op {
	case ir.Const, ir.FConst, ir.FReg:
		return true
	case ir.Reg:
		return in.Imm <= ir.RegPC || in.Imm == ir.RegFlags
	}
	return false
}
