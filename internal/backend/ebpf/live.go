package ebpf

import "github.com/jalon-trace/jalon/internal/ir"

// Positions: a block starts at start[b], where its parameters are defined;
// instruction i reads at pos(b, i) and writes at the next number; the pointer to
// address 0 is made two before the instruction that it precedes. The terminator
// is the instruction behind the last. Control flows forward only, so a value
// lives between its definition and its last use in this order, whatever path is
// taken and wherever the code of the block stands.
type liveness struct {
	an    *analysis
	start []int32
	iv    []interval // by value; the hidden values follow the program's
	calls []int32    // positions that destroy r1 to r5, ascending
}

type interval struct {
	from, to int32 // from > to: no register needed
	hint     ir.Value
}

// The hidden values.
func (an *analysis) context() ir.Value { return ir.Value(len(an.p.Classes)) }
func (an *analysis) zero() ir.Value    { return ir.Value(len(an.p.Classes) + 1) }
func (an *analysis) record() ir.Value  { return ir.Value(len(an.p.Classes) + 2) }
func (an *analysis) header() ir.Value  { return ir.Value(len(an.p.Classes) + 3) }

const numHidden = 4

func (l *liveness) pos(b ir.BlockID, i int) int32 { return l.start[b] + 4 + 4*int32(i) }

func computeLiveness(an *analysis) *liveness {
	p := an.p
	l := &liveness{an: an, start: make([]int32, len(p.Blocks)), iv: make([]interval, len(p.Classes)+numHidden)}
	for v := range l.iv {
		l.iv[v] = interval{from: 1, to: 0, hint: ir.None}
	}
	next := int32(4)
	for b, blk := range p.Blocks {
		l.start[b] = next
		next += 4*int32(len(blk.Instrs)) + 8
	}
	l.define(an.context(), 0)
	for b := range p.Blocks {
		if an.reach[b] {
			l.block(ir.BlockID(b))
		}
	}
	return l
}

func (l *liveness) block(b ir.BlockID) {
	an, blk := l.an, l.an.p.Blocks[b]
	for _, v := range blk.Params {
		if an.uses[v] > 0 {
			l.define(v, l.start[b])
		}
	}
	end := l.pos(b, len(blk.Instrs))
	for k := 0; k <= len(blk.Instrs); k++ {
		pos := l.pos(b, k)
		if b == an.zeroBlock && k == an.zeroIndex {
			l.calls = append(l.calls, pos-2)
			l.define(an.zero(), pos-1)
		}
		if k < len(blk.Instrs) && an.emitted(&blk.Instrs[k]) {
			l.instr(&blk.Instrs[k], pos, end)
		}
	}
	if blk.Term.Kind == ir.Branch {
		for _, v := range an.condInputs(blk.Term.Cond) {
			l.use(v, end)
		}
	}
	for _, e := range an.edges(&blk.Term) {
		for k, v := range e.Args {
			param := an.p.Blocks[e.To].Params[k]
			if an.uses[param] > 0 {
				l.use(v, end)
				l.iv[param].hint = v
			}
		}
	}
}

func (l *liveness) instr(in *ir.Instr, pos, end int32) {
	an := l.an
	for _, v := range an.inputs(in) {
		to := pos
		switch {
		case v == in.A && keepsA(in):
			to = pos + 1
		case in.Op == ir.Reserve: // see analysis.who
			to = pos + 1
		case an.late[in]:
			to = end
		}
		l.use(v, to)
	}
	hidden := pos
	if an.calls(in) {
		l.calls = append(l.calls, pos)
	}
	if an.calls(in) || in.Op == ir.Load { // wanted behind a call, or for a second look
		hidden = pos + 1
	}
	if an.needsContext(in) {
		l.use(an.context(), hidden)
	}
	if an.needsZero(in) {
		l.use(an.zero(), hidden)
	}
	if needsRecord(in) {
		l.use(an.record(), pos+1)
	}
	switch in.Op {
	case ir.Reserve: // made in the middle of it, before the last call
		l.define(an.record(), pos-1)
		if !an.headerKnown() {
			l.define(an.header(), pos+1)
		}
	case ir.Commit:
		if !an.headerKnown() {
			l.use(an.header(), pos)
		}
	}
	if in.Dst != ir.None && an.uses[in.Dst] > 0 {
		l.define(in.Dst, pos+1)
		if in.A != ir.None && !keepsA(in) {
			l.iv[in.Dst].hint = in.A
		}
	}
}

func (l *liveness) define(v ir.Value, pos int32) {
	if iv := &l.iv[v]; iv.from > iv.to {
		iv.from, iv.to = pos, pos
	}
}

func (l *liveness) use(v ir.Value, pos int32) {
	if int(v) < len(l.an.p.Classes) && l.an.known[v] {
		return
	}
	if iv := &l.iv[v]; iv.to < pos {
		iv.to = pos
	}
}

// crosses reports whether an interval contains a call.
func (l *liveness) crosses(iv interval) bool {
	lo, hi := 0, len(l.calls)
	for lo < hi {
		if m := (lo + hi) / 2; l.calls[m] <= iv.from {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(l.calls) && l.calls[lo] < iv.to
}
