package amd64

import "github.com/jalon-trace/jalon/internal/ir"

var intCC = map[ir.Op]cc{ir.Eq: ccE, ir.Ne: ccNE, ir.SLt: ccL, ir.SLe: ccLE, ir.ULt: ccB, ir.ULe: ccBE}

func init() {
	for op := range intCC {
		lower[op] = (*gen).lowerCompare
	}
}

// compare sets the flags for an integer comparison and returns its condition.
func (g *gen) compare(in *ir.Instr) cc {
	a, b, c := in.A, in.B, intCC[in.Op]
	if x := g.an.instr(a); x != nil && x.Op == ir.And && g.an.folded[a] {
		g.test(x)
		return c
	}
	oa := g.val(a, in.W)
	if oa.kind == opdImm {
		ob := g.val(b, in.W)
		if ob.kind == opdImm {
			ob = regOpd(g.constReg(ob.imm))
		}
		g.compareOpds(in.W, ob, oa)
		return c.swapped()
	}
	g.compareOpds(in.W, oa, g.val(b, in.W))
	return c
}

func (g *gen) compareOpds(w uint8, a, b opd) {
	switch {
	case b.kind == opdImm && b.imm == 0 && a.kind == opdReg:
		g.mr(iTEST, w, a.rm(), a.r)
	case b.kind == opdImm:
		g.mio(iCMP, w, a, b.imm)
	case a.kind == opdMem && b.kind == opdReg:
		g.effects(iCMP, NoReg, false)
		g.guard(a.fix)
		g.a.mr(iCMP, w, a.rm(), b.r)
	case a.kind == opdMem:
		s := g.scratch()
		g.move(s, w, a)
		g.rmo(iCMP, w, s, b)
	default:
		g.rmo(iCMP, w, a.r, b)
	}
}

// test sets the flags for A & B compared with zero.
func (g *gen) test(in *ir.Instr) {
	a, b := g.val(in.A, in.W), g.val(in.B, in.W)
	if a.kind != opdReg && b.kind == opdReg || a.kind == opdImm {
		a, b = b, a
	}
	if a.kind == opdImm {
		a = regOpd(g.constReg(a.imm))
	}
	switch b.kind {
	case opdImm:
		g.mio(iTEST, in.W, a, b.imm)
		return
	case opdReg:
		g.effects(iTEST, NoReg, false)
		g.guard(a.fix)
		g.a.mr(iTEST, in.W, a.rm(), b.r)
		return
	}
	if a.kind == opdMem {
		s := g.scratch()
		g.move(s, in.W, a)
		a = regOpd(s)
	}
	g.effects(iTEST, NoReg, false)
	g.guard(b.fix)
	g.a.mr(iTEST, in.W, b.rm(), a.r)
}

func (g *gen) lowerCompare(in *ir.Instr) {
	c := g.compare(in)
	g.materialise(in.Dst, c)
}

// materialise turns the condition in the flags into 0 or 1.
func (g *gen) materialise(v ir.Value, c cc) {
	d := g.dst(v)
	g.setcc(c, d)
	g.rmo(iMOVZB, 4, d, regOpd(d))
	g.setDst(v, d)
}
