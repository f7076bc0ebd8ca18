package sema

import (
	"fmt"

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
func (vs *values) place(e expr) place {
	switch e := e.(type) {
	case *varRef:
		s := e.shape()
		p := place{mem: s.mem, pieces: s.pieces, obj: e.t.Strip().Size * 8}
		switch {
		case s.ctx:
			p.ctx, p.addr = true, sym{v: ir.None, off: e.loc.Pieces[0].Ctx, trust: inContext}
		case s.mem:
			p.addr = vs.settled(vs.location(e.loc.Pieces[0].Expr), e.t.Strip().Size)
		}
		return p
	case *deref:
		a := vs.address(e.ptr)
		a.trust = noTrust
		return place{mem: true, addr: a, obj: e.t.Strip().Size * 8}
	case *sub:
		p := vs.place(e.x)
		p.lo += e.bitOff
		return p
	case *dynamic:
		start, _ := vs.dynamicParts(e)
		return place{mem: true, addr: start}
	case *perCPU:
		return place{mem: true, addr: vs.perCPUAddr(e), obj: e.t.Strip().Size * 8}
	case *repeat:
		p := vs.place(e.x)
		if e.count != 1 {
			if p.ctx { // its end may lie outside of the block
				p = place{mem: true, addr: vs.byteAddr(p)}
			}
			p.addr.trust, p.obj = noTrust, p.lo+e.t.Size*8
		}
		return p
	case *comma:
		vs.discard(e.x)
		return vs.place(e.y)
	case *condExpr:
		return vs.eitherPlace(e)
	}
	panic(fmt.Sprintf("BUG: sema: %T has no place", e))
}

// eitherPlace joins the addresses of two objects.
func (vs *values) eitherPlace(e *condExpr) place {
	v := vs.either(e.c, func(x expr) ir.Value { return vs.word(vs.byteAddr(vs.place(x))) }, e.a, e.b, ir.I64)
	return place{mem: true, addr: sym{v: v}, obj: e.t.Strip().Size * 8}
}

// byteAddr is the address of an object that is in memory.
func (vs *values) byteAddr(p place) sym {
	if !p.mem || p.lo%8 != 0 {
		panic("BUG: sema: object without an address")
	}
	if p.ctx {
		p.addr.v = vs.env(ir.EnvContext)
	}
	return p.addr.plus(p.lo / 8)
}

// address is the value of pointer e, with its constant offset kept apart.
func (vs *values) address(e expr) sym {
	switch e := e.(type) {
	case *addrOf:
		return vs.byteAddr(vs.place(e.x))
	case *intConst:
		return constant(e.v)
	case *conv:
		if isPointer(e.x.Type()) && isPointer(e.t) {
			return vs.address(e.x)
		}
	case *ptrAdd:
		if n, ok := constInt(e.i); ok {
			if e.minus {
				n = -n
			}
			s := vs.address(e.p).plus(n * e.scale)
			s.trust = noTrust
			return s
		}
	}
	return sym{v: vs.value(e)}
}

// read returns the value of scalar object e, extended by its type.
func (vs *values) read(e expr) ir.Value {
	p, t, n := vs.place(e), e.Type().Strip(), bitsOf(e)
	size := t.Size
	switch {
	case t.Kind == ctype.Float:
		return vs.readFloat(p, size)
	case p.ctx:
		return vs.readContext(p, n, size, isSigned(t))
	case p.mem && n == size*8 && p.lo%8 == 0:
		return vs.loadAt(vs.byteAddr(p), uint8(size), isSigned(t))
	case p.mem:
		return vs.fit(vs.memoryBits(p, n), n, size, isSigned(t))
	}
	return vs.fit(vs.gather(p, n), n, size, isSigned(t))
}

func floatClass(size int64) ir.Class {
	if size == 4 {
		return ir.F32
	}
	return ir.F64
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

// pieceBits is bits [off, off+n) of one piece, in the low bits of the result.
func (vs *values) pieceBits(q debuginfo.Piece, off, n int64) ir.Value {
	first := q.BitOffset + off
	switch q.Kind {
	case debuginfo.InRegister:
		if isXMM(q.Reg) {
			low := vs.freg(q.Reg-int(processor.Vector0), ir.F64)
			return vs.shiftRight(vs.b.Def(ir.I64, ir.Instr{Op: ir.FBits, A: low, B: ir.None, Fault: ir.NoBlock}), first)
		}
		return vs.shiftRight(vs.reg(int64(q.Reg)), first)
	case debuginfo.IsValue:
		return vs.shiftRight(vs.word(vs.location(q.Expr)), first)
	case debuginfo.IsBytes:
		return vs.b.Const(int64(bitsFrom(q.Bytes, first, n)))
	case debuginfo.InContext:
		return vs.ctxBits(q.Ctx, q.Ctx+(q.BitOffset+q.BitSize+7)/8, first, n)
	case debuginfo.InMemory:
		return vs.loadBits(vs.settled(vs.location(q.Expr), (first+n+7)/8), first, n)
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

// memoryBits returns the value of n bits in memory that are not a whole number: a bit-field. It reads the
// smallest aligned word of the enclosing object that has all of them; if there is none, exactly their
// bytes.
func (vs *values) memoryBits(p place, n int64) ir.Value {
	for w := int64(8); w <= 64; w *= 2 {
		start := p.lo / w * w
		if p.lo+n <= start+w && start+w <= p.obj {
			v := vs.loadWord(p.addr.plus(start/8), uint8(w/8))
			return vs.shiftRight(v, p.lo-start)
		}
	}
	return vs.loadBits(p.addr, p.lo, n)
}

// gather puts n (at most 64) bits together from pieces; higher bits of the
// result mean nothing when there is one piece only.
func (vs *values) gather(p place, n int64) ir.Value {
	v := ir.None
	window(p.pieces, p.lo, n, func(q debuginfo.Piece, off, at, count int64) {
		if q.Kind == debuginfo.IsMissing { // a gap of the field
			return
		}
		part := vs.pieceBits(q, off, count)
		if count < n {
			part = vs.shiftLeft(vs.mask(part, count), at)
		}
		v = vs.or(v, part)
	})
	if v == ir.None {
		v = vs.b.Const(0)
	}
	return v
}

// loadBits reads the bytes that hold n (at most 64) bits from bit lo on.
func (vs *values) loadBits(addr sym, lo, n int64) ir.Value {
	addr, shift := addr.plus(lo/8), lo%8
	count := (shift + n + 7) / 8
	v := vs.loadBytes(addr, min(count, 8))
	v = vs.shiftRight(v, shift)
	if count > 8 {
		last := vs.loadWord(addr.plus(8), 1)
		v = vs.b.Bin(ir.Or, 8, v, vs.shiftLeft(last, 64-shift))
	}
	return v
}

func (vs *values) readFloat(p place, size int64) ir.Value {
	class := floatClass(size)
	if p.mem {
		base, off := vs.split(vs.byteAddr(p))
		return vs.b.Def(class, ir.Instr{Op: ir.FLoad, A: base, B: ir.None, Imm: off, Fault: vs.faultFor(p.addr)})
	}
	if reg, ok := wholeXMM(p, size*8); ok {
		return vs.freg(reg, class)
	}
	return vs.b.Def(class, ir.Instr{Op: ir.BitsF, A: vs.gather(p, size*8), B: ir.None, Fault: ir.NoBlock})
}
