package amd64

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	lower[ir.Load] = (*gen).lowerLoad
	lower[ir.FLoad] = (*gen).lowerFLoad
	lower[ir.StrEq] = (*gen).lowerStrEq
}

func (g *gen) lowerLoad(in *ir.Instr) {
	d := g.dst(in.Dst)
	g.extend(d, in.W, in.Signed, g.loadOpd(in))
	g.setDst(in.Dst, d)
}

func (g *gen) lowerFLoad(in *ir.Instr) {
	d := g.dstX(in.Dst)
	g.moveX(d, g.wide(in.Dst), g.loadOpd(in))
	g.setDstX(in.Dst, d)
}

// pointer returns A + off as a register and a displacement that leaves room for
// span bytes more.
func (g *gen) pointer(a ir.Value, off, span int64) mem {
	r, d := g.base(a)
	sum := int64(d) + off
	if sum == int64(int32(sum)) && sum+span == int64(int32(sum+span)) {
		return at(r, int32(sum))
	}
	s := g.constReg(sum)
	g.rmo(iADD, 8, s, regOpd(r))
	return at(s, 0)
}

func (m mem) indexed(i Reg) mem {
	m.index = i
	return m
}

// piece is a part of a run of bytes that one instruction moves.
type piece struct {
	off int32
	w   uint8
}

// pieces splits n bytes in moves of at most widest bytes; the last may overlap
// the one before it.
func pieces(n int64, widest uint8) []piece {
	var ps []piece
	off := int64(0)
	for w := int64(widest); w >= 1; w /= 2 {
		for n-off >= w {
			ps = append(ps, piece{int32(off), uint8(w)})
			off += w
		}
		if rest := n - off; rest > 0 && off > 0 && n >= w && rest > w/2 {
			return append(ps, piece{int32(n - w), uint8(w)})
		}
	}
	return ps
}

// lowerStrEq compares by words. When a word cannot be read it starts again by
// bytes, so that nothing behind the first difference is asked for.
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

// compareBytes falls through when the bytes at m are want, which stands in the code.
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
