package sema

import (
	"fmt"
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
)

// place is where an object is, with its code made: an address in memory, or the
// pieces of a variable. lo is the object's first bit from there; obj is how many
// bits of the enclosing object lie at addr, all as readable as the object itself.
//
// With ctx the object is in the context block, addr.off bytes from its start: its
// bytes can be read without an address (see ctxBits).
type place struct {
	mem    bool
	ctx    bool
	addr   sym
	obj    int64
	pieces []debuginfo.Piece
	lo     int64
}

// place makes the code that finds object e.
func (l *lowerer) place(e expr) place {
	switch e := e.(type) {
	case *varRef:
		s := e.shape()
		p := place{mem: s.mem, pieces: s.pieces, obj: e.t.Strip().Size * 8}
		switch {
		case s.ctx:
			p.ctx, p.addr = true, sym{v: ir.None, off: e.loc.Pieces[0].Ctx, trust: inContext}
		case s.mem:
			p.addr = l.settled(l.location(e.loc.Pieces[0].Expr), e.t.Strip().Size)
		}
		return p
	case *deref:
		a := l.address(e.ptr)
		a.trust = noTrust
		return place{mem: true, addr: a, obj: e.t.Strip().Size * 8}
	case *sub:
		p := l.place(e.x)
		p.lo += e.bitOff
		return p
	case *dynamic:
		start, _ := l.dynamicParts(e)
		return place{mem: true, addr: start}
	case *perCPU:
		return place{mem: true, addr: l.perCPUAddr(e), obj: e.t.Strip().Size * 8}
	case *repeat:
		p := l.place(e.x)
		if e.count != 1 {
			if p.ctx { // its end may lie outside of the block
				p = place{mem: true, addr: l.byteAddr(p)}
			}
			p.addr.trust, p.obj = noTrust, p.lo+e.t.Size*8
		}
		return p
	case *comma:
		l.discard(e.x)
		return l.place(e.y)
	case *condExpr:
		return l.eitherPlace(e)
	}
	panic(fmt.Sprintf("BUG: sema: %T has no place", e))
}

// eitherPlace joins the addresses of two objects.
func (l *lowerer) eitherPlace(e *condExpr) place {
	v := l.either(e.c, func(x expr) ir.Value { return l.word(l.byteAddr(l.place(x))) }, e.a, e.b, ir.I64)
	return place{mem: true, addr: sym{v: v}, obj: e.t.Strip().Size * 8}
}

// byteAddr is the address of an object that is in memory.
func (l *lowerer) byteAddr(p place) sym {
	if !p.mem || p.lo%8 != 0 {
		panic("BUG: sema: object without an address")
	}
	if p.ctx {
		p.addr.v = l.env(ir.EnvContext)
	}
	return p.addr.plus(p.lo / 8)
}

// address is the value of pointer e, with its constant offset kept apart.
func (l *lowerer) address(e expr) sym {
	switch e := e.(type) {
	case *addrOf:
		return l.byteAddr(l.place(e.x))
	case *intConst:
		return constant(e.v)
	case *conv:
		if isPointer(e.x.Type()) && isPointer(e.t) {
			return l.address(e.x)
		}
	case *ptrAdd:
		if n, ok := constInt(e.i); ok {
			if e.minus {
				n = -n
			}
			s := l.address(e.p).plus(n * e.scale)
			s.trust = noTrust
			return s
		}
	}
	return sym{v: l.value(e)}
}

// read is the value of scalar object e, extended as its type says.
func (l *lowerer) read(e expr) ir.Value {
	p, t, n := l.place(e), e.Type().Strip(), bitsOf(e)
	size := t.Size
	switch {
	case t.Kind == ctype.Float:
		return l.readFloat(p, size)
	case p.ctx:
		return l.readContext(p, n, size, isSigned(t))
	case p.mem && n == size*8 && p.lo%8 == 0:
		return l.loadAt(l.byteAddr(p), uint8(size), isSigned(t))
	case p.mem:
		return l.fit(l.memoryBits(p, n), n, size, isSigned(t))
	}
	return l.fit(l.gather(p, n), n, size, isSigned(t))
}

// fit extends the low n bits of v to an object of size bytes, and further as loads do.
func (l *lowerer) fit(v ir.Value, n, size int64, signed bool) ir.Value {
	switch {
	case n == 8 || n == 16 || n == 32:
		return l.extend(v, n/8, signed)
	case n >= 64:
		return v
	case signed:
		k := l.b.Const(64 - n)
		return l.b.Bin(ir.Sar, 8, l.b.Bin(ir.Shl, 8, v, k), k)
	}
	return l.mask(v, n)
}

func (l *lowerer) mask(v ir.Value, n int64) ir.Value {
	if n >= 64 {
		return v
	}
	return l.b.Bin(ir.And, 8, v, l.b.Const(1<<n-1))
}

// extend makes 64 bits of the low size bytes of v.
func (l *lowerer) extend(v ir.Value, size int64, signed bool) ir.Value {
	switch {
	case size >= 8:
		return v
	case signed:
		return l.b.Un(ir.SExt, uint8(size), v)
	}
	return l.b.Un(ir.ZExt, uint8(size), v)
}

func floatClass(size int64) ir.Class {
	if size == 4 {
		return ir.F32
	}
	return ir.F64
}

func (l *lowerer) readFloat(p place, size int64) ir.Value {
	class := floatClass(size)
	if p.mem {
		base, off := l.split(l.byteAddr(p))
		return l.b.Def(class, ir.Instr{Op: ir.FLoad, A: base, B: ir.None, Imm: off, Fault: l.faultFor(p.addr)})
	}
	if reg, ok := wholeXMM(p, size*8); ok {
		return l.freg(reg, class)
	}
	return l.b.Def(class, ir.Instr{Op: ir.BitsF, A: l.gather(p, size*8), B: ir.None, Fault: ir.NoBlock})
}

// wholeXMM recognises an object that is the low n bits of a vector register.
func wholeXMM(p place, n int64) (reg int, ok bool) {
	window(p.pieces, p.lo, n, func(q debuginfo.Piece, off, _, bits int64) {
		if q.Kind == debuginfo.InRegister && isXMM(q.Reg) && q.BitOffset+off == 0 && bits == n {
			reg, ok = q.Reg-int(processor.Vector0), true
		}
	})
	return reg, ok
}

func (l *lowerer) freg(n int, class ir.Class) ir.Value {
	return l.b.Def(class, ir.Instr{Op: ir.FReg, Imm: int64(n), A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// faultFor is the fault edge of an access at or inside the object at s.
func (l *lowerer) faultFor(s sym) ir.BlockID {
	if s.trust != noTrust {
		return ir.NoBlock
	}
	return l.traps.at(l, trapUnreadable)
}

// split gives a base value and an offset.
func (l *lowerer) split(s sym) (ir.Value, int64) {
	if s.isConst() {
		return l.b.Const(s.off), 0
	}
	return s.v, s.off
}

func (l *lowerer) loadAt(s sym, w uint8, signed bool) ir.Value {
	base, off := l.split(s)
	if w == 8 {
		signed = false
	}
	return l.b.Load(w, signed, base, off, l.faultFor(s))
}

func (l *lowerer) loadWord(s sym, w uint8) ir.Value { return l.loadAt(s, w, false) }

// memoryBits is the value of n bits in memory that are no whole number: a
// bit-field. The smallest aligned word of the enclosing object that has all of
// them is read; where there is none, exactly their bytes.
func (l *lowerer) memoryBits(p place, n int64) ir.Value {
	for w := int64(8); w <= 64; w *= 2 {
		start := p.lo / w * w
		if p.lo+n <= start+w && start+w <= p.obj {
			v := l.loadWord(p.addr.plus(start/8), uint8(w/8))
			return l.shiftRight(v, p.lo-start)
		}
	}
	return l.loadBits(p.addr, p.lo, n)
}

// loadBits reads the bytes that hold n (at most 64) bits from bit lo on.
func (l *lowerer) loadBits(addr sym, lo, n int64) ir.Value {
	addr, shift := addr.plus(lo/8), lo%8
	count := (shift + n + 7) / 8
	v := l.loadBytes(addr, min(count, 8))
	v = l.shiftRight(v, shift)
	if count > 8 {
		last := l.loadWord(addr.plus(8), 1)
		v = l.b.Bin(ir.Or, 8, v, l.shiftLeft(last, 64-shift))
	}
	return v
}

// loadBytes reads n (1 to 8) bytes, and not one more.
func (l *lowerer) loadBytes(addr sym, n int64) ir.Value {
	v, at := ir.None, int64(0)
	for at < n {
		w := int64(1) << (bits.Len64(uint64(n-at)) - 1)
		part := l.shiftLeft(l.loadWord(addr.plus(at), uint8(w)), at*8)
		v = l.or(v, part)
		at += w
	}
	return v
}

func (l *lowerer) or(a, b ir.Value) ir.Value {
	if a == ir.None {
		return b
	}
	return l.b.Bin(ir.Or, 8, a, b)
}

func (l *lowerer) shiftRight(v ir.Value, n int64) ir.Value {
	if n == 0 {
		return v
	}
	return l.b.Bin(ir.Shr, 8, v, l.b.Const(n))
}

func (l *lowerer) shiftLeft(v ir.Value, n int64) ir.Value {
	if n == 0 {
		return v
	}
	return l.b.Bin(ir.Shl, 8, v, l.b.Const(n))
}

// gather puts n (at most 64) bits together from pieces; higher bits of the
// result mean nothing when there is one piece only.
func (l *lowerer) gather(p place, n int64) ir.Value {
	v := ir.None
	window(p.pieces, p.lo, n, func(q debuginfo.Piece, off, at, count int64) {
		part := l.pieceBits(q, off, count)
		if count < n {
			part = l.shiftLeft(l.mask(part, count), at)
		}
		v = l.or(v, part)
	})
	if v == ir.None {
		v = l.b.Const(0)
	}
	return v
}

// pieceBits is bits [off, off+n) of one piece, in the low bits of the result.
func (l *lowerer) pieceBits(q debuginfo.Piece, off, n int64) ir.Value {
	first := q.BitOffset + off
	switch q.Kind {
	case debuginfo.InRegister:
		if isXMM(q.Reg) {
			low := l.freg(q.Reg-int(processor.Vector0), ir.F64)
			return l.shiftRight(l.b.Def(ir.I64, ir.Instr{Op: ir.FBits, A: low, B: ir.None, Fault: ir.NoBlock}), first)
		}
		return l.shiftRight(l.reg(int64(q.Reg)), first)
	case debuginfo.IsValue:
		return l.shiftRight(l.word(l.location(q.Expr)), first)
	case debuginfo.IsBytes:
		return l.b.Const(int64(bitsFrom(q.Bytes, first, n)))
	case debuginfo.InContext:
		return l.ctxBits(q.Ctx, q.Ctx+(q.BitOffset+q.BitSize+7)/8, first, n)
	case debuginfo.InMemory:
		return l.loadBits(l.settled(l.location(q.Expr), (first+n+7)/8), first, n)
	}
	panic("BUG: sema: a missing piece is read")
}

// bitsFrom is n (at most 64) bits of b from bit first on.
func bitsFrom(b []byte, first, n int64) uint64 {
	v := uint64(0)
	for i := range n {
		k := first + i
		if k/8 < int64(len(b)) {
			v |= uint64(b[k/8]>>(k%8)&1) << i
		}
	}
	return v
}
