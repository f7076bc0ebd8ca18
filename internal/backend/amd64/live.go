package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// Positions: a block starts at start[b], where its parameters are defined;
// instruction i reads at start[b]+2+2i and writes at the next number; the
// terminator follows. Control flows forward only, so a value lives between its
// definition and its last use in this order, whatever path is taken.
type liveness struct {
	an    *analysis
	start []int32
	// intervals of values that need a register; hidden values follow the program's.
	iv []interval
	// fixed lists the registers that instructions destroy, by position.
	fixed []fixedUse
}

type interval struct {
	from, to int32 // from > to: no register needed
	xmm      bool
	hint     ir.Value // a value whose register is wanted, or None
}

type fixedUse struct {
	pos  int32
	regs regSet
}

// hidden values of a program with records.
func (l *liveness) recPtr() ir.Value    { return ir.Value(len(l.an.p.Classes)) }
func (l *liveness) recHeader() ir.Value { return ir.Value(len(l.an.p.Classes) + 1) }

func (l *liveness) pos(b ir.BlockID, i int) int32 { return l.start[b] + 2 + 2*int32(i) }
func (l *liveness) termPos(b ir.BlockID) int32    { return l.pos(b, len(l.an.p.Blocks[b].Instrs)) }

func computeLiveness(an *analysis) *liveness {
	p := an.p
	l := &liveness{an: an, start: make([]int32, len(p.Blocks)+1), iv: make([]interval, len(p.Classes)+2)}
	next := int32(0)
	for b, blk := range p.Blocks {
		l.start[b] = next
		next += 2*int32(len(blk.Instrs)) + 4
	}
	l.start[len(p.Blocks)] = next
	for v := range l.iv {
		l.iv[v] = interval{from: 1, to: 0, hint: ir.None}
		if v < len(p.Classes) {
			l.iv[v].xmm = p.Classes[v] != ir.I64
		}
	}
	for b := range p.Blocks {
		if an.reach[b] {
			l.block(ir.BlockID(b))
		}
	}
	return l
}

// emitted reports whether instruction in is emitted at its own place.
func (an *analysis) emitted(in *ir.Instr) bool {
	if hasEffect(in.Op) {
		return true
	}
	return !an.folded[in.Dst] && !an.dead[in.Dst] && !an.remat(in.Dst)
}

func (l *liveness) block(b ir.BlockID) {
	blk := l.an.p.Blocks[b]
	for _, v := range blk.Params {
		if l.an.uses[v] > 0 {
			l.define(v, l.start[b])
		}
	}
	for i := range blk.Instrs {
		in := &blk.Instrs[i]
		if !l.an.emitted(in) {
			continue
		}
		pos := l.pos(b, i)
		l.useInstr(in, pos)
		if r := fixedRegs(l.an, in); r != 0 {
			l.fixed = append(l.fixed, fixedUse{pos, r})
		}
		l.recordUse(in, pos)
		if !hasEffect(in.Op) {
			l.define(in.Dst, pos+1)
			if hasA(in.Op) {
				l.iv[in.Dst].hint = in.A
			}
		}
	}
	pos := l.termPos(b)
	if blk.Term.Kind == ir.Branch {
		l.use(blk.Term.Cond, pos)
	}
	for _, e := range edges(&blk.Term) {
		for k, v := range e.Args {
			l.use(v, pos)
			l.iv[l.an.p.Blocks[e.To].Params[k]].hint = v
		}
	}
}

func (l *liveness) define(v ir.Value, pos int32) {
	iv := &l.iv[v]
	if iv.from > iv.to {
		iv.from, iv.to = pos, pos
	}
}

// use extends v, or what it is folded from, to pos.
func (l *liveness) use(v ir.Value, pos int32) {
	if l.an.remat(v) {
		return
	}
	if l.an.folded[v] {
		l.useInstr(l.an.instr(v), pos)
		return
	}
	if iv := &l.iv[v]; iv.to < pos {
		iv.to = pos
	}
}

func (l *liveness) useInstr(in *ir.Instr, pos int32) {
	for _, v := range l.an.inputs(in) {
		l.use(v, pos)
	}
}

// inputs are the values that in reads when it is emitted.
func (an *analysis) inputs(in *ir.Instr) []ir.Value {
	m, ok := an.modes[in]
	if !ok {
		return operands(in)
	}
	var v []ir.Value
	if m.base != ir.None {
		v = append(v, m.base)
	}
	if m.index != ir.None {
		v = append(v, m.index)
	}
	return v
}

// recordUse keeps the record pointer alive from Reserve to Commit.
func (l *liveness) recordUse(in *ir.Instr, pos int32) {
	hidden := []ir.Value{l.recPtr()}
	if len(l.an.sizes) > 1 {
		hidden = append(hidden, l.recHeader())
	}
	for _, v := range hidden {
		switch {
		case in.Op == ir.Reserve:
			// Written before the instruction is done with rax and rdx.
			l.define(v, pos)
		case in.Op > ir.Reserve && in.Op <= ir.Commit:
			l.iv[v].to = max(l.iv[v].to, pos)
		}
	}
}

// fixedRegs are the registers that in destroys by their hardware role.
func fixedRegs(an *analysis, in *ir.Instr) regSet {
	switch in.Op {
	case ir.SDiv, ir.UDiv, ir.SRem, ir.URem:
		if k, ok := an.constant(in.B); ok && divIsSimple(in.Op, in.W, k) {
			return 0
		}
		return setOf(item(RAX), item(RDX))
	case ir.Shl, ir.Shr, ir.Sar:
		if _, ok := an.constant(in.B); ok {
			return 0
		}
		return setOf(item(RCX))
	case ir.Reserve:
		return setOf(item(RAX), item(RDX))
	case ir.Reg:
		if in.Imm == ir.RegInUse {
			return setOf(item(RAX), item(RCX), item(RDX))
		}
	}
	return 0
}
