package amd64

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() { lower[ir.StrEq] = (*gen).lowerStrEq }

// lowerStrEq compares by words. If a word cannot be read, it starts again by bytes, so it reads nothing after
// the first difference.
func (cp *copies) lowerStrEq(in *ir.Instr) {
	want := append([]byte(in.Data), 0)
	n := int64(len(want))
	d := cp.dst(in.Dst)
	m := cp.pointer(in.A, in.Imm, n)
	fault := noLabel
	if in.Fault != ir.NoBlock {
		fault = cp.faultEdge(in.Fault, m)
		if in.Imm >= 0 && in.Imm < 4096 {
			cp.nullTest(in.A, m.base, fault)
		}
	}
	no, done, slow := cp.a.newLabel(), cp.a.newLabel(), cp.a.newLabel()
	if n <= 128 {
		cp.compareWords(m, want, no, slow)
	} else {
		cp.a.jmp(slow)
	}
	yes := cp.a.newLabel()
	cp.a.bind(yes)
	i, t, u := cp.scratch(), cp.scratch(), cp.scratch()
	cp.movImm(d, 1)
	cp.a.bind(done)
	cp.setDst(in.Dst, d)
	cp.later(func() {
		cp.a.bind(slow)
		cp.compareBytes(m, want, [3]Reg{i, t, u}, no, fault)
		cp.a.jmp(yes)
		cp.a.bind(no)
		cp.movImm(d, 0)
		cp.a.jmp(done)
	})
}

func (cp *copies) compareWords(m mem, want []byte, no, slow label) {
	for _, p := range pieces(int64(len(want)), 8) {
		k := int64(0)
		for i := int(p.w) - 1; i >= 0; i-- {
			k = k<<8 | int64(want[int(p.off)+i])
		}
		o := memOpd(m.plus(p.off))
		o.fix = slow
		if p.w == 8 && k != int64(int32(k)) {
			s := cp.constReg(k)
			cp.rmo(iCMP, 8, s, o)
			cp.release(s)
		} else {
			cp.mio(iCMP, p.w, o, k)
		}
		cp.a.jcc(ccNE, no)
	}
}

// compareBytes falls through if the bytes at m equal want, which is embedded in the code.
func (cp *copies) compareBytes(m mem, want []byte, t [3]Reg, no, fault label) {
	i, c, u := t[0], t[1], t[2]
	text := cp.a.newLabel()
	loop := cp.a.newLabel()
	cp.clobber(item(u))
	cp.a.rm(iLEA, 8, u, rmMem(ripLabel(text)), 0)
	cp.movImm(i, 0)
	cp.a.bind(loop)
	o := memOpd(m.indexed(i))
	o.fix = fault
	cp.rmo(iMOVZB, 4, c, o)
	cp.rmo(iCMP, 1, c, memOpd(atIdx(u, i, 1, 0)))
	cp.a.jcc(ccNE, no)
	cp.mi(iADD, 4, rmReg(i), 1)
	cp.mi(iCMP, 4, rmReg(i), int64(len(want)))
	cp.a.jcc(ccB, loop)
	cp.placeData(text, want)
}

// placeData puts constant bytes in the cold section.
func (cp *copies) placeData(l label, b []byte) {
	cp.later(func() {
		cp.a.bind(l)
		cp.a.data(b)
	})
}

// constant64 is the label of a constant in the cold section.
func (cp *copies) constant64(v address) label {
	l := cp.a.newLabel()
	cp.later(func() {
		cp.a.bind(l)
		if v.of != sameEverywhere {
			cp.a.sites = append(cp.a.sites, siteField{at: cp.a.here(), kind: fieldData, of: v.of})
		}
		cp.a.data(binary.LittleEndian.AppendUint64(nil, v.n))
	})
	return l
}
