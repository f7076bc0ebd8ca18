package ebpf

import (
	"github.com/jalon-trace/jalon/internal/backend/regalloc"
	"github.com/jalon-trace/jalon/internal/ir"
)

// liveness is when values live, and where calls are. The pointer to address 0 is made
// just before the instruction that it precedes: a call two positions before it. It is
// regalloc's Backend.
type liveness struct {
	*regalloc.Liveness
	an    *analysis
	calls []int32 // positions that destroy r1 to r5, ascending
}

// The hidden values.
func (an *analysis) context() ir.Value { return ir.Value(len(an.p.Classes)) }
func (an *analysis) zero() ir.Value    { return ir.Value(len(an.p.Classes) + 1) }
func (an *analysis) record() ir.Value  { return ir.Value(len(an.p.Classes) + 2) }
func (an *analysis) header() ir.Value  { return ir.Value(len(an.p.Classes) + 3) }

const numHidden = 4

func computeLiveness(an *analysis) *liveness {
	l := &liveness{an: an}
	l.Liveness = regalloc.Compute(an.p, l, numHidden)
	for v := range l.Lives {
		if iv := &l.Lives[v]; iv.From == iv.To { // nothing reads it
			iv.From, iv.To = 1, 0
		}
	}
	return l
}

// Reached implements regalloc.Backend, as the methods below.
func (l *liveness) Reached(b ir.BlockID) bool { return l.an.reach[b] }

// Used reports whether something that is emitted reads v.
func (l *liveness) Used(v ir.Value) bool { return l.an.uses[v] > 0 }

// Passes: parameters that nothing reads are not handed over.
func (l *liveness) Passes(param ir.Value) bool { return l.an.uses[param] > 0 }

// Edges are those that can be taken.
func (l *liveness) Edges(t *ir.Term) []*ir.Edge { return l.an.edges(t) }

// Branch reads its condition, or what is compared in it.
func (l *liveness) Branch(t *ir.Term) []ir.Value { return l.an.condInputs(t.Cond) }

// Held: constants are in no register.
func (l *liveness) Held(v ir.Value, use func(ir.Value)) {
	if int(v) >= len(l.an.p.Classes) || !l.an.known[v] {
		use(v)
	}
}

// Instr adds an instruction's lives.
func (l *liveness) Instr(lv *regalloc.Liveness, b ir.BlockID, i int) {
	l.Liveness = lv // Compute has not returned yet
	an, blk, pos := l.an, l.an.p.Blocks[b], lv.At(b, i)
	if b == 0 && i == 0 {
		l.Define(an.context(), 0)
	}
	if b == an.zeroBlock && i == an.zeroIndex {
		l.calls = append(l.calls, pos-2)
		l.Define(an.zero(), pos-1)
	}
	if i < len(blk.Instrs) && an.emitted(&blk.Instrs[i]) {
		l.instr(&blk.Instrs[i], pos, lv.End(b))
	}
}

func (l *liveness) instr(in *ir.Instr, pos, end int32) {
	an := l.an
	for _, v := range an.inputs(in) {
		to := pos
		switch {
		case v == in.A && keepsA(in) || an.onCell(in):
			to = pos + 1
		case in.Op == ir.Reserve: // see analysis.pidTgid
			to = pos + 1
		case an.late[in]:
			to = end
		}
		l.Use(v, to)
	}
	hidden := pos
	if an.calls(in) {
		l.calls = append(l.calls, pos)
	}
	if an.calls(in) || in.Op == ir.Load { // wanted behind a call, or for a second look
		hidden = pos + 1
	}
	if an.needsContext(in) {
		l.Use(an.context(), hidden)
	}
	if an.needsZero(in) {
		l.Use(an.zero(), hidden)
	}
	if needsRecord(in) {
		l.Use(an.record(), pos+1)
	}
	switch in.Op {
	case ir.Reserve: // made in the middle of it, before the last call
		l.Define(an.record(), pos-1)
		if !an.headerKnown() {
			l.Define(an.header(), pos+1)
		}
	case ir.Commit:
		if !an.headerKnown() {
			l.Use(an.header(), pos)
		}
	}
	if in.Dst != ir.None && an.uses[in.Dst] > 0 {
		l.Define(in.Dst, pos+1)
		if in.A != ir.None && !keepsA(in) {
			l.Lives[in.Dst].Hint = in.A
		}
	}
}

// crosses reports whether an interval contains a call.
func (l *liveness) crosses(iv regalloc.Interval) bool {
	lo, hi := 0, len(l.calls)
	for lo < hi {
		if m := (lo + hi) / 2; l.calls[m] <= iv.From {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(l.calls) && l.calls[lo] < iv.To
}
