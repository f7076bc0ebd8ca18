package irgen

import (
	"github.com/jalon-trace/jalon/internal/ir"
)

// redZone is how far below rsp programs read.
const redZone = 128

// access is where an operation reads: address A+Imm (Imm stays 0 when the
// operation has none).
type access struct {
	a     ir.Value
	imm   int64
	fault ir.BlockID
}

// access makes an address for n bytes: guarded, when a fault can go
// somewhere, or surely readable. withImm says that the operation has an offset.
func (vs *values) access(n int64, withImm bool) access {
	if to, ok := vs.faultTarget(); ok && vs.r.Intn(4) != 0 {
		a := vs.guarded(withImm)
		a.fault = to
		return a
	}
	return vs.safe(n, withImm)
}

// safe is an address with n readable bytes: static data or the stack.
func (vs *values) safe(n int64, withImm bool) access {
	if vs.opt.High != 0 && vs.r.Intn(2) == 0 {
		return vs.high(vs.r.Int63n(HighSize-n+1), withImm)
	}
	data := vs.r.Intn(2) == 0 || n > StackRoom
	lo, hi := int64(-redZone), StackRoom-n
	if data {
		lo, hi = 0, max(2*PageSize-n, 0)
	}
	off := lo + vs.r.Int63n(hi-lo+1)
	if vs.r.Intn(2) == 0 {
		off &^= 7
		off = max(off, lo)
	}
	if !data {
		return vs.offset(vs.reg(regRSP), off, withImm)
	}
	first := int64(vs.opt.base()) + PageSize
	if vs.r.Intn(2) == 0 {
		return access{a: vs.constant(first + off), fault: ir.NoBlock}
	}
	return vs.offset(vs.constant(first), off, withImm)
}

// offset adds off to base, in the operation if it can.
func (vs *values) offset(base ir.Value, off int64, withImm bool) access {
	if withImm && vs.r.Intn(4) != 0 {
		return access{a: base, imm: off, fault: ir.NoBlock}
	}
	return access{a: vs.bin(ir.Add, 8, base, vs.constant(off)), fault: ir.NoBlock}
}

// guarded is an address that may be anything that cannot meet the executor's
// own memory: words of registers and memory as they are, other numbers only
// brought into our pages, into the null page, or out of the canonical range.
func (vs *values) guarded(withImm bool) access {
	small := int64(vs.r.Intn(128) - 64)
	if vs.opt.High != 0 && vs.r.Intn(2) == 0 {
		off := vs.r.Int63n(HighSize)
		if vs.r.Intn(3) == 0 {
			off = HighSize - vs.r.Int63n(24)
		}
		return vs.high(off, withImm)
	}
	switch vs.r.Intn(8) {
	case 0, 1:
		s := State{Base: vs.opt.base()}
		return vs.offset(vs.constant(int64(s.pointer(vs.r))), small, withImm)
	case 2, 3:
		n := int64(vs.r.Intn(16))
		if n == regRSP {
			small += 128
		}
		return vs.offset(vs.reg(n), small, withImm)
	case 4: // a pointer from memory
		p := vs.safe(8, true)
		v := vs.def(ir.I64, ir.Instr{Op: ir.Load, W: 8, A: p.a, Imm: p.imm, B: ir.None, Fault: p.fault})
		return vs.offset(v, small, withImm)
	case 5:
		v := vs.bin(ir.Or, 8, vs.int(), vs.constant(-1<<63))
		return access{a: v, fault: ir.NoBlock}
	case 6:
		v := vs.bin(ir.And, 8, vs.int(), vs.constant(PageSize-1))
		return access{a: v, fault: ir.NoBlock}
	}
	// An index into our pages below the stack, borders included.
	v := vs.bin(ir.And, 8, vs.int(), vs.constant(0x3fff))
	v = vs.bin(ir.Add, 8, v, vs.constant(int64(vs.opt.base())))
	return vs.offset(v, small, withImm)
}

func (vs *values) load() ir.Value {
	w := vs.width(ir.Load.Info().Widths)
	a := vs.access(int64(w), true)
	return vs.def(ir.I64, ir.Instr{Op: ir.Load, W: w, Signed: w < 8 && vs.r.Intn(2) == 0, A: a.a, Imm: a.imm, Fault: a.fault})
}

func (vs *values) fload(c ir.Class) ir.Value {
	a := vs.access(c.Bytes(), true)
	return vs.def(c, ir.Instr{Op: ir.FLoad, A: a.a, Imm: a.imm, Fault: a.fault})
}

func (vs *values) streq() ir.Value {
	s := literal(vs.r)
	a := vs.access(int64(len(s))+1, true)
	return vs.def(ir.I64, ir.Instr{Op: ir.StrEq, A: a.a, Imm: a.imm, Data: s, Fault: a.fault})
}
