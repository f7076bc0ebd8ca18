package irgen

import (
	"github.com/jalon-trace/jalon/internal/arch/amd64"
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
func (g *gen) access(n int64, withImm bool) access {
	if to, ok := g.faultTarget(); ok && g.r.Intn(4) != 0 {
		a := g.guarded(withImm)
		a.fault = to
		return a
	}
	return g.safe(n, withImm)
}

// safe is an address with n readable bytes: static data or the stack.
func (g *gen) safe(n int64, withImm bool) access {
	if g.opt.High != 0 && g.r.Intn(2) == 0 {
		return g.high(g.r.Int63n(HighSize-n+1), withImm)
	}
	data := g.r.Intn(2) == 0 || n > StackRoom
	lo, hi := int64(-redZone), StackRoom-n
	if data {
		lo, hi = 0, max(2*PageSize-n, 0)
	}
	off := lo + g.r.Int63n(hi-lo+1)
	if g.r.Intn(2) == 0 {
		off &^= 7
		off = max(off, lo)
	}
	if !data {
		return g.offset(g.reg(regRSP), off, withImm)
	}
	first := int64(g.opt.base()) + PageSize
	if g.r.Intn(2) == 0 {
		return access{a: g.constant(first + off), fault: ir.NoBlock}
	}
	return g.offset(g.constant(first), off, withImm)
}

// offset adds off to base, in the operation if it can.
func (g *gen) offset(base ir.Value, off int64, withImm bool) access {
	if withImm && g.r.Intn(4) != 0 {
		return access{a: base, imm: off, fault: ir.NoBlock}
	}
	return access{a: g.bin(ir.Add, 8, base, g.constant(off)), fault: ir.NoBlock}
}

// guarded is an address that may be anything that cannot meet the executor's
// own memory: words of registers and memory as they are, other numbers only
// brought into our pages, into the null page, or out of the canonical range.
func (g *gen) guarded(withImm bool) access {
	small := int64(g.r.Intn(128) - 64)
	if g.opt.High != 0 && g.r.Intn(2) == 0 {
		off := g.r.Int63n(HighSize)
		if g.r.Intn(3) == 0 {
			off = HighSize - g.r.Int63n(24)
		}
		return g.high(off, withImm)
	}
	switch g.r.Intn(8) {
	case 0, 1:
		s := State{Base: g.opt.base()}
		return g.offset(g.constant(int64(s.pointer(g.r))), small, withImm)
	case 2, 3:
		n := int64(g.r.Intn(16))
		if n == regRSP {
			small += 128
		}
		return g.offset(g.reg(n), small, withImm)
	case 4: // a pointer from memory
		p := g.safe(8, true)
		v := g.def(ir.I64, ir.Instr{Op: ir.Load, W: 8, A: p.a, Imm: p.imm, B: ir.None, Fault: p.fault})
		return g.offset(v, small, withImm)
	case 5:
		v := g.bin(ir.Or, 8, g.int(), g.constant(-1<<63))
		return access{a: v, fault: ir.NoBlock}
	case 6:
		v := g.bin(ir.And, 8, g.int(), g.constant(PageSize-1))
		return access{a: v, fault: ir.NoBlock}
	}
	// An index into our pages below the stack, borders included.
	v := g.bin(ir.And, 8, g.int(), g.constant(0x3fff))
	v = g.bin(ir.Add, 8, v, g.constant(int64(g.opt.base())))
	return g.offset(v, small, withImm)
}

func (g *gen) load() ir.Value {
	w := g.width(ir.Load.Info().Widths)
	a := g.access(int64(w), true)
	return g.def(ir.I64, ir.Instr{Op: ir.Load, W: w, Signed: w < 8 && g.r.Intn(2) == 0, A: a.a, Imm: a.imm, Fault: a.fault})
}

func (g *gen) fload(c ir.Class) ir.Value {
	a := g.access(c.Bytes(), true)
	return g.def(c, ir.Instr{Op: ir.FLoad, A: a.a, Imm: a.imm, Fault: a.fault})
}

func (g *gen) streq() ir.Value {
	s := literal(g.r)
	a := g.access(int64(len(s))+1, true)
	return g.def(ir.I64, ir.Instr{Op: ir.StrEq, A: a.a, Imm: a.imm, Data: s, Fault: a.fault})
}

// slot finds room for n bytes in the record, aligned mostly; false: none.
func (g *gen) slot(n int64) (int64, bool) {
	room := g.room - ir.RecordHeader - n
	if room < 0 {
		return 0, false
	}
	off := ir.RecordHeader + g.r.Int63n(room+1)
	if g.r.Intn(4) != 0 {
		off &^= 7
	}
	return off, true
}

func (g *gen) put() {
	w := g.width(ir.Put.Info().Widths)
	if off, ok := g.slot(int64(w)); ok {
		g.emit(ir.Instr{Op: ir.Put, W: w, A: g.int(), Imm: off})
	}
}

func (g *gen) fput() {
	c := g.float()
	if off, ok := g.slot(c.Bytes()); ok {
		g.emit(ir.Instr{Op: ir.FPut, A: g.value(c), Imm: off})
	}
}

func (g *gen) putReg() {
	w := []uint8{1, 2, 4, 8, 16}[g.r.Intn(5)]
	if off, ok := g.slot(int64(w)); ok {
		g.emit(ir.Instr{Op: ir.PutReg, W: w, Aux: int64(g.r.Intn(16)), Imm: off})
	}
}

// putOther puts a register that no operation computes with.
func (g *gen) putOther() {
	w, n := uint8(16), int64(amd64.UpperYMM+g.r.Intn(16))
	if g.r.Intn(4) == 0 {
		w, n = 4, amd64.MXCSR
	}
	if off, ok := g.slot(int64(w)); ok {
		g.emit(ir.Instr{Op: ir.PutReg, W: w, Aux: n, Imm: off})
	}
}

func (g *gen) putX87() {
	if off, ok := g.slot(amd64.X87Slot); ok {
		g.emit(ir.Instr{Op: ir.PutReg, Aux: amd64.X87, Imm: off})
	}
}

// size is a number of bytes to copy into a slot with head bytes before them,
// and the slot's offset.
func (g *gen) size(head int64) (off, n int64, ok bool) {
	room := g.room - ir.RecordHeader - head
	if room < 0 {
		return 0, 0, false
	}
	n = g.r.Int63n(room + 1)
	if g.r.Intn(2) == 0 {
		n = min(room, []int64{0, 1, 2, 4, 7, 8, 9, 15, 16, 17, 24, 32, 64}[g.r.Intn(13)])
	}
	off, ok = g.slot(head + n)
	return off, n, ok
}

func (g *gen) copy() {
	if off, n, ok := g.size(0); ok {
		a := g.access(n, false)
		g.emit(ir.Instr{Op: ir.Copy, A: a.a, Imm: off, Aux: n, Fault: a.fault})
	}
}

func (g *gen) copyN() {
	off, n, ok := g.size(ir.CountedHeader)
	if !ok {
		return
	}
	var b ir.Value
	switch g.r.Intn(4) {
	case 0:
		b = g.int()
	case 1:
		b = g.constant(edge(g.r))
	default:
		b = g.bin(ir.And, 8, g.int(), g.constant(63))
	}
	a := g.access(n, false)
	g.emit(ir.Instr{Op: ir.CopyN, A: a.a, B: b, Imm: off, Aux: n, Fault: a.fault})
}

func (g *gen) copyStr() {
	if off, n, ok := g.size(ir.CountedHeader); ok {
		w := []uint8{1, 1, 2, 4}[g.r.Intn(4)]
		n -= n % int64(w)
		a := g.access(n, false)
		g.emit(ir.Instr{Op: ir.CopyStr, W: w, A: a.a, Imm: off, Aux: n, Fault: a.fault})
	}
}

func (g *gen) copyMax() {
	if off, n, ok := g.size(ir.CountedHeader); ok {
		a := g.guarded(false)
		g.emit(ir.Instr{Op: ir.CopyMax, A: a.a, Imm: off, Aux: n})
	}
}
