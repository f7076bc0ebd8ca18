package amd64

import (
	"github.com/jalon-trace/jalon/internal/backend/regalloc"
	"github.com/jalon-trace/jalon/internal/ir"
)

// liveness is when values live, and what instructions destroy. The hidden values of a
// program with records follow the program's. It is regalloc's Backend.
type liveness struct {
	*regalloc.Liveness
	an *analysis
	// fixed lists the registers that instructions destroy, by position.
	fixed []fixedUse
}

type fixedUse struct {
	pos  int32
	regs regSet
}

// hidden values of a program with records.
func (l *liveness) recPtr() ir.Value    { return ir.Value(len(l.an.p.Classes)) }
func (l *liveness) recHeader() ir.Value { return ir.Value(len(l.an.p.Classes) + 1) }

const numHidden = 2

func computeLiveness(an *analysis) *liveness {
	l := &liveness{an: an}
	l.Liveness = regalloc.Compute(an.p, l, numHidden)
	return l
}

// Reached implements regalloc.Backend, as the methods below.
func (l *liveness) Reached(b ir.BlockID) bool { return l.an.reach[b] }

// Used reports whether something reads v.
func (l *liveness) Used(v ir.Value) bool { return l.an.uses[v] > 0 }

// Passes: arguments live to the edge.
func (l *liveness) Passes(ir.Value) bool { return true }

// Edges are those in use.
func (l *liveness) Edges(t *ir.Term) []*ir.Edge { return edges(t) }

// Branch reads its condition.
func (l *liveness) Branch(t *ir.Term) []ir.Value { return []ir.Value{t.Cond} }

// Held calls use for v, or for what it is folded from.
func (l *liveness) Held(v ir.Value, use func(ir.Value)) {
	switch {
	case l.an.remat(v):
	case l.an.folded[v]:
		for _, x := range l.an.inputs(l.an.instr(v)) {
			l.Held(x, use)
		}
	default:
		use(v)
	}
}

// Instr adds an instruction's lives.
func (l *liveness) Instr(lv *regalloc.Liveness, b ir.BlockID, i int) {
	blk := l.an.p.Blocks[b]
	if i == len(blk.Instrs) || !l.an.emitted(&blk.Instrs[i]) {
		return
	}
	in, pos := &blk.Instrs[i], lv.At(b, i)
	for _, v := range l.an.inputs(in) {
		lv.Use(v, pos)
	}
	if r := fixedRegs(l.an, in); r != 0 {
		l.fixed = append(l.fixed, fixedUse{pos, r})
	}
	l.recordUse(lv, in, pos)
	if in.Dst == ir.None {
		return
	}
	if in.Op.Info().Result == ir.SlotResult {
		lv.Define(in.Dst, pos) // written while the key is still needed
		return
	}
	lv.Define(in.Dst, pos+1)
	if in.A != ir.None && !in.Op.HasEffect() {
		lv.Lives[in.Dst].Hint = in.A
	}
}

// recordUse keeps the record pointer alive from Reserve to Commit.
func (l *liveness) recordUse(lv *regalloc.Liveness, in *ir.Instr, pos int32) {
	hidden := []ir.Value{l.recPtr()}
	if len(l.an.sizes) > 1 {
		hidden = append(hidden, l.recHeader())
	}
	for _, v := range hidden {
		switch {
		case in.Op == ir.Reserve:
			// Written before the instruction is done with rax and rdx.
			lv.Define(v, pos)
		case in.Op.Info().Record:
			lv.Keep(v, pos)
		}
	}
}
