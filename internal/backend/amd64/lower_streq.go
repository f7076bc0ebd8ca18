package amd64

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() { lower[ir.StrEq] = (*gen).lowerStrEq }

// lowerStrEq compares by words. If a word cannot be read, it starts again by bytes, so it reads nothing after
// the first difference.
func (g *gen) lowerStrEq(in *ir.Instr) {
	want := append([]byte(in.Data), 0)
	n := int64(len(want))
	d := g.dst(in.Dst)
	m := g.pointer(in.A, in.Imm, n)
	fault := noLabel
	if in.Fault != ir.NoBlock {
		fault = g.faultEdge(in.Fault, m)
		if in.Imm >= 0 && in.Imm < 4096 {
			g.nullTest(in.A, m.base, fault)
		}
	}
	no, done, slow := g.a.newLabel(), g.a.newLabel(), g.a.newLabel()
	if n <= 128 {
		g.compareWords(m, want, no, slow)
	} else {
		g.a.jmp(slow)
	}
	yes := g.a.newLabel()
	g.a.bind(yes)
	i, t, u := g.scratch(), g.scratch(), g.scratch()
	g.movImm(d, 1)
	g.a.bind(done)
	g.setDst(in.Dst, d)
	g.later(func() {
		g.a.bind(slow)
		g.compareBytes(m, want, [3]Reg{i, t, u}, no, fault)
		g.a.jmp(yes)
		g.a.bind(no)
		g.movImm(d, 0)
		g.a.jmp(done)
	})
}

func (g *gen) compareWords(m mem, want []byte, no, slow label) {
	for _, p := range pieces(int64(len(want)), 8) {
		k := int64(0)
		for i := int(p.w) - 1; i >= 0; i-- {
			k = k<<8 | int64(want[int(p.off)+i])
		}
		o := memOpd(m.plus(p.off))
		o.fix = slow
		if p.w == 8 && k != int64(int32(k)) {
			s := g.constReg(k)
			g.rmo(iCMP, 8, s, o)
			g.release(s)
		} else {
			g.mio(iCMP, p.w, o, k)
		}
		g.a.jcc(ccNE, no)
	}
}

// compareBytes falls through if the bytes at m equal want, which is embedded in the code.
func (g *gen) compareBytes(m mem, want []byte, t [3]Reg, no, fault label) {
	i, c, u := t[0], t[1], t[2]
	text := g.a.newLabel()
	loop := g.a.newLabel()
	g.clobber(item(u))
	g.a.rm(iLEA, 8, u, rmMem(ripLabel(text)), 0)
	g.movImm(i, 0)
	g.a.bind(loop)
	o := memOpd(m.indexed(i))
	o.fix = fault
	g.rmo(iMOVZB, 4, c, o)
	g.rmo(iCMP, 1, c, memOpd(atIdx(u, i, 1, 0)))
	g.a.jcc(ccNE, no)
	g.mi(iADD, 4, rmReg(i), 1)
	g.mi(iCMP, 4, rmReg(i), int64(len(want)))
	g.a.jcc(ccB, loop)
	g.placeData(text, want)
}

// placeData puts constant bytes in the cold section.
func (g *gen) placeData(l label, b []byte) {
	g.later(func() {
		g.a.bind(l)
		g.a.data(b)
	})
}

// constant64 is the label of a constant in the cold section.
func (g *gen) constant64(v uint64) label {
	l := g.a.newLabel()
	g.placeData(l, binary.LittleEndian.AppendUint64(nil, v))
	return l
}
