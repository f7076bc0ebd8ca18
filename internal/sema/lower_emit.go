package sema

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ir"
)

// emitter emits what needs no tree: registers, the context block, loads, bits of words, and
// locations of debug information.
type emitter struct {
	in       *Input
	b        *ir.Builder
	frame    int64 // the register that the CFA rule counts from: slots there are readable; -1: none
	params   map[ir.BlockID]int
	traps    *traps           // of the field in work, or of the condition
	pair     paired           // the entry of the call, at a return
	tables   map[string]int64 // numbers of the session's maps
	followed map[int]ir.Value // stacks of the program that are known, by frames
	locals   map[int]ir.Value // what actions have kept
}

func (em *emitter) env(number int64) ir.Value {
	return em.b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: number, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// reg reads DWARF register n. The instruction pointer is known, but in the kernel
// engine only where it says so: one program serves all processes, or many sites.
func (em *emitter) reg(n int64) ir.Value {
	switch k := em.in.Kernel; {
	case n == ir.RegPC && k == nil:
		return em.b.Const(int64(em.in.Scope.PC() + em.in.Bias))
	case n == ir.RegPC && k.PC != 0:
		return em.b.Const(int64(k.PC))
	}
	return em.b.Reg(n)
}

// frameReg reports whether addresses relative to DWARF register n are stack slots: always for the stack
// pointer, for another register if the CFA rule uses it.
func (em *emitter) frameReg(n int64) trust {
	if em.in.Kernel != nil { // whose stack it is, and whether it is paged in, is not known
		return noTrust
	}
	switch n {
	case int64(processor.SP):
		return fromSP
	case em.frame:
		return fromFP
	}
	return noTrust
}

// image is the address of vaddr in the module: known when the program is
// compiled, or, in a process that is known at the hit only, counted from where
// the site is.
func (em *emitter) image(vaddr int64) sym {
	k := em.in.Kernel
	switch {
	case k == nil || !k.User:
		s := sym{v: ir.None, off: vaddr + int64(em.in.Bias), trust: inData}
		if k != nil && s.off >= 0 { // what is not in the kernel's half is no static data, whatever says so
			s.trust = noTrust
		}
		return s
	case k.Fixed:
		return constant(vaddr)
	}
	return sym{v: em.reg(ir.RegPC), off: vaddr - int64(em.in.Scope.PC())}
}

// ctx reads w bytes at off of the context block, a multiple of w.
func (em *emitter) ctx(off int64, w uint8, signed bool) ir.Value {
	return em.b.Def(ir.I64, ir.Instr{Op: ir.Ctx, W: w, Signed: signed && w < 8, Imm: off, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

func (em *emitter) count(counter int64) {
	em.b.Emit(ir.Instr{Op: ir.Count, Imm: counter, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// faultFor is the fault edge of an access at or inside the object at s.
func (em *emitter) faultFor(s sym) ir.BlockID {
	if s.trust != noTrust {
		return ir.NoBlock
	}
	return em.traps.at(em, trapUnreadable)
}

// split gives a base value and an offset.
func (em *emitter) split(s sym) (ir.Value, int64) {
	if s.isConst() {
		return em.b.Const(s.off), 0
	}
	return s.v, s.off
}

// fit extends the low n bits of v to an object of size bytes, and further as loads do.
func (em *emitter) fit(v ir.Value, n, size int64, signed bool) ir.Value {
	switch {
	case n == 8 || n == 16 || n == 32:
		return em.extend(v, n/8, signed)
	case n >= 64:
		return v
	case signed:
		k := em.b.Const(64 - n)
		return em.b.Bin(ir.Sar, 8, em.b.Bin(ir.Shl, 8, v, k), k)
	}
	return em.mask(v, n)
}

func (em *emitter) mask(v ir.Value, n int64) ir.Value {
	if n >= 64 {
		return v
	}
	return em.b.Bin(ir.And, 8, v, em.b.Const(1<<n-1))
}

// extend makes 64 bits of the low size bytes of v.
func (em *emitter) extend(v ir.Value, size int64, signed bool) ir.Value {
	switch {
	case size >= 8:
		return v
	case signed:
		return em.b.Un(ir.SExt, uint8(size), v)
	}
	return em.b.Un(ir.ZExt, uint8(size), v)
}

func (em *emitter) freg(n int, class ir.Class) ir.Value {
	return em.b.Def(class, ir.Instr{Op: ir.FReg, Imm: int64(n), A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

func (em *emitter) loadAt(s sym, w uint8, signed bool) ir.Value {
	base, off := em.split(s)
	if w == 8 {
		signed = false
	}
	return em.b.Load(w, signed, base, off, em.faultFor(s))
}

func (em *emitter) loadWord(s sym, w uint8) ir.Value { return em.loadAt(s, w, false) }

// loadBytes reads n (1 to 8) bytes, and not one more.
func (em *emitter) loadBytes(addr sym, n int64) ir.Value {
	v, at := ir.None, int64(0)
	for at < n {
		w := int64(1) << (bits.Len64(uint64(n-at)) - 1)
		part := em.shiftLeft(em.loadWord(addr.plus(at), uint8(w)), at*8)
		v = em.or(v, part)
		at += w
	}
	return v
}

func (em *emitter) or(a, b ir.Value) ir.Value {
	if a == ir.None {
		return b
	}
	return em.b.Bin(ir.Or, 8, a, b)
}

func (em *emitter) shiftRight(v ir.Value, n int64) ir.Value {
	if n == 0 {
		return v
	}
	return em.b.Bin(ir.Shr, 8, v, em.b.Const(n))
}

func (em *emitter) shiftLeft(v ir.Value, n int64) ir.Value {
	if n == 0 {
		return v
	}
	return em.b.Bin(ir.Shl, 8, v, em.b.Const(n))
}

// readContext is the n bits of object p in the context block, as a scalar of size bytes.
func (em *emitter) readContext(p place, n, size int64, signed bool) ir.Value {
	bit := p.addr.off*8 + p.lo
	if n == size*8 && bit%n == 0 && n&(n-1) == 0 {
		return em.ctx(bit/8, uint8(size), signed)
	}
	v := em.ctxBits(p.addr.off, p.addr.off+(p.obj+7)/8, p.lo, n)
	return em.fit(v, n, size, signed)
}

// ctxBits is n (at most 64) bits, from bit first behind byte lo of the context
// block on, in the low bits of the result. It reads aligned words inside of [lo, hi).
func (em *emitter) ctxBits(lo, hi, first, n int64) ir.Value {
	bit := lo*8 + first
	for w := int64(8); w <= 64; w *= 2 {
		start := bit / w * w
		if bit+n <= start+w && start/8 >= lo && (start+w)/8 <= hi {
			return em.shiftRight(em.ctx(start/8, uint8(w/8), false), bit-start)
		}
	}
	v := ir.None
	for at, end := bit/8, (bit+n+7)/8; at < end; {
		w := int64(8)
		for at%w != 0 || at+w > end {
			w /= 2
		}
		part := em.ctx(at, uint8(w), false)
		if d := at*8 - bit; d < 0 {
			part = em.shiftRight(part, -d)
		} else {
			part = em.shiftLeft(part, d)
		}
		v = em.or(v, part)
		at += w
	}
	return v
}

// testZero leaves by the division edge when divisor y is zero.
func (em *emitter) testZero(y ir.Value, w uint8) {
	zero := em.b.Bin(ir.Eq, w, y, em.b.Const(0))
	next := em.b.NewBlock("division")
	em.b.BranchTo(zero, ir.Edge{To: em.traps.at(em, trapDivide)}, ir.Edge{To: next}, true)
	em.b.Start(next)
}
