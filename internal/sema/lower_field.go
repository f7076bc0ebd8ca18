package sema

import (
	"math/bits"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
)

const (
	countedHeader = 8 // u32 length, u32 flags
	maxRepeat     = 1<<31 - 1
)

// regsSize is the size of event.Regs: the words of processor.Dump.
var regsSize = int64(8 * len(processor.Dump))

// failing ties the traps of a slot to where they are reported.
type failing struct {
	traps  *traps
	slot   slotID
	status *slotID
}

// field emits the code that takes p.
func (l *lowerer) field(p *plan) {
	l.traps = &traps{}
	var fs fieldSlots
	var fails []failing
	switch p.mode {
	case asNothing:
		return
	case asValue:
		fs = l.takeValue(p.x)
	case asPointer:
		fs = l.takePointer(p, &fails)
	case asBytes:
		fs = l.takeBytes(p)
	case asText:
		fs = l.copyStr(l.word(l.address(p.x)), p)
	case asRepeat:
		fs = l.takeRepeat(p.x.(*repeat), p.limit)
	case asRegs:
		fs = l.newSlot(regsSize, 8)
		l.takeRegs(fs.value)
	case asStack:
		fs = l.takeStack()
	case asUserStack:
		fs = l.takeUserStack()
	case asWalk:
		fs = l.walked
		if l.in.Kernel != nil {
			fs = l.takeWalk()
		}
	case asTables:
		fs = l.walked
	case asDynamic:
		fs = l.takeDynamic(p.x.(*dynamic), p.limit)
	case asFrames:
		fs = l.takeFrames(p.Kind)
	case asGrid:
		fs = l.takeGrid(p.grid, p.limit)
	case asSData:
		fs = l.takeSData(l.in.Kernel.SData)
	}
	fails = append(fails, failing{l.traps, fs.value, &fs.status})
	if p.mode == asPointer {
		fails[0].slot, fails[0].status = fs.value, &fs.status
		fails[1].slot, fails[1].status = fs.str, &fs.strState
	}
	l.endField(p.Name, fails)
	if l.rec.fields == nil {
		l.rec.fields = map[*plan]fieldSlots{}
	}
	l.rec.fields[p] = fs
}

// endField puts the fault blocks after the code of a field.
func (l *lowerer) endField(name string, fails []failing) {
	next := ir.NoBlock
	for _, f := range fails {
		if !f.traps.any() {
			continue
		}
		if next == ir.NoBlock {
			next = l.b.NewBlock("after " + name)
			l.b.Jump(next)
		}
		l.failed(f, next)
	}
	if next != ir.NoBlock {
		l.b.Start(next)
	}
}

// failed emits the fault blocks of a part of a field, which lead to next.
func (l *lowerer) failed(f failing, next ir.BlockID) {
	status := l.rec.add(slot{size: 1, align: 1, status: true})
	s := &l.rec.slots[f.slot-1]
	s.size, s.align = max(s.size, 8), 8 // room for the address
	*f.status = status
	f.traps.each(func(k trap, blk ir.BlockID) {
		l.b.Start(blk)
		if k == trapUnreadable {
			l.put(l.b.Param(blk, 0), 8, f.slot.imm(0))
		}
		l.put(l.b.Const(int64(trapStatus[k])), 1, status.imm(0))
		l.b.Jump(next)
	})
}

func (l *lowerer) put(v ir.Value, w uint8, imm int64) {
	l.b.Emit(ir.Instr{Op: ir.Put, W: w, Dst: ir.None, A: v, B: ir.None, Imm: imm, Fault: ir.NoBlock})
}

func (l *lowerer) newSlot(size, align int64) fieldSlots {
	return fieldSlots{value: l.rec.add(slot{size: size, align: align}), size: size}
}

func (l *lowerer) takeValue(e expr) fieldSlots {
	t := e.Type().Strip()
	fs := l.newSlot(t.Size, t.Size)
	v := l.value(e)
	if isFloat(t) {
		l.b.Emit(ir.Instr{Op: ir.FPut, Dst: ir.None, A: v, B: ir.None, Imm: fs.value.imm(0), Fault: ir.NoBlock})
	} else {
		l.put(v, uint8(t.Size), fs.value.imm(0))
	}
	return fs
}

// takePointer takes a char pointer, then its string. A fault of the pointer's
// own evaluation skips the string.
func (l *lowerer) takePointer(p *plan, fails *[]failing) fieldSlots {
	fs := l.newSlot(8, 8)
	v := l.value(p.x)
	l.put(v, 8, fs.value.imm(0))
	*fails = append(*fails, failing{traps: l.traps})
	l.traps = &traps{}
	str := l.copyStr(v, p)
	fs.str, fs.strSize = str.value, str.size
	return fs
}

// copyStr takes the string at address a.
func (l *lowerer) copyStr(a ir.Value, p *plan) fieldSlots {
	fs := l.newSlot(countedHeader+p.limit, 8)
	l.b.Emit(ir.Instr{
		Op: ir.CopyStr, W: uint8(p.width), Dst: ir.None, A: a, B: ir.None,
		Imm: fs.value.imm(0), Aux: p.limit, Fault: l.traps.at(l.emitter, trapUnreadable),
	})
	return fs
}

func (l *lowerer) copy(op ir.Op, addr, n ir.Value, imm, size int64, fault ir.BlockID) {
	l.b.Emit(ir.Instr{Op: op, Dst: ir.None, A: addr, B: n, Imm: imm, Aux: size, Fault: fault})
}

// takeRepeat takes n elements, at most limit.
func (l *lowerer) takeRepeat(e *repeat, limit int64) fieldSlots {
	size := e.x.Type().Strip().Size
	fs := l.newSlot(countedHeader+limit*size, 8)
	n := l.wide(e.n)
	bad := l.b.Bin(ir.ULt, 8, l.b.Const(maxRepeat), n)
	ok := l.b.NewBlock("count")
	l.b.BranchTo(bad, ir.Edge{To: l.traps.at(l.emitter, trapBounds)}, ir.Edge{To: ok}, true)
	l.b.Start(ok)
	if size != 1 {
		n = l.b.Bin(ir.Mul, 8, n, l.b.Const(size))
	}
	addr := l.byteAddr(l.place(e.x))
	addr.trust = noTrust
	l.putAddress(&fs, e.x.Type(), addr)
	l.copy(ir.CopyN, l.word(addr), n, fs.value.imm(0), limit*size, l.faultFor(addr))
	return fs
}

func (l *lowerer) takeRegs(id slotID) {
	for i, n := range processor.Dump {
		l.put(l.reg(int64(n)), 8, id.imm(int64(i)*8))
	}
}

// takeStack takes the registers and the stack from the stack pointer up.
func (l *lowerer) takeStack() fieldSlots {
	n := int64(l.in.StackLimit)
	fs := l.newSlot(regsSize+countedHeader+n, 8)
	l.copyStack(fs.value)
	return fs
}

func (l *lowerer) copyStack(to slotID) {
	l.takeRegs(to)
	l.copy(ir.CopyMax, l.reg(int64(processor.SP)), ir.None, to.imm(regsSize), int64(l.in.StackLimit), ir.NoBlock)
}

// takeUserStack takes the registers with which the thread entered the kernel, and its program's stack. All registers of a thread
// without a program are 0, and nothing is copied.
func (l *lowerer) takeUserStack() fieldSlots {
	fs := l.newSlot(regsSize+countedHeader+int64(l.in.StackLimit), 8)
	programStack{l}.copyEntered(fs.value)
	return fs
}

// takeWalk takes the pcs of the program's frames.
func (l *lowerer) takeWalk() fieldSlots {
	n := 8 * int64(l.in.StackFrames)
	fs := l.newSlot(countedHeader+n, 8)
	sp, fp := l.reg(int64(processor.SP)), l.reg(int64(processor.FP))
	l.b.Emit(ir.Instr{Op: ir.Walk, Dst: ir.None, A: sp, B: fp, Imm: fs.value.imm(0), Aux: n, Fault: ir.NoBlock})
	return fs
}

// takeBytes takes an object whole.
func (l *lowerer) takeBytes(plan *plan) fieldSlots {
	e := plan.x
	n := e.Type().Strip().Size
	if len(plan.bases) > 0 && isRecord(e.Type()) { // what lies behind its members may be another object, or nothing
		n = min(n, max(8, dataSize(e.Type().Strip(), 0)))
	}
	fs := l.newSlot(n, alignOf(n))
	if n == 0 && !hasUnbounded(e.Type()) {
		return fs
	}
	p := l.place(e)
	if p.mem && !p.ctx && p.lo%8 == 0 {
		l.putAddress(&fs, e.Type(), l.byteAddr(p))
	}
	switch {
	case n == 0:
		return fs
	case p.ctx && n <= 8:
		l.putBytes(l.readContext(p, n*8, n, false), n, fs.value.imm(0))
		return fs
	case p.mem:
		addr := l.byteAddr(p)
		l.copy(ir.Copy, l.word(addr), ir.None, fs.value.imm(0), n, l.faultFor(addr))
		if p.ctx {
			l.hideContext(fs.value.imm(0), addr.off, n)
			return fs
		}
		l.takeBases(plan.bases, addr)
		l.takeTexts(plan.texts, addr, &fs)
		return fs
	}
	if storable(shape{pieces: p.pieces, lo: p.lo}, n*8) != "" { // at most a word: see needBytes
		l.putBytes(l.gather(p, n*8), n, fs.value.imm(0))
		l.takeTexts(plan.texts, sym{}, &fs)
		return fs
	}
	for _, x := range spans(p.pieces, p.lo, n*8) {
		switch {
		case x.missing: // a gap of the field
		case x.gathered:
			l.putBytes(l.gather(place{pieces: p.pieces, lo: p.lo + x.at}, x.bits), x.bits/8, fs.value.imm(x.at/8))
		default:
			l.storePiece(&fs, x.piece, x.off, x.at/8, x.bits)
		}
	}
	l.takeTexts(plan.texts, sym{}, &fs)
	return fs
}

// putAddress stores the address of a value of type t where its text has addresses in it.
func (l *lowerer) putAddress(fs *fieldSlots, t *ctype.Type, addr sym) {
	if !hasUnbounded(t) {
		return
	}
	fs.addr = l.rec.add(slot{size: 8, align: 8})
	l.put(l.word(addr), 8, fs.addr.imm(0))
}

// alignOf is the alignment of a slot of n bytes: the largest power of two up to
// 8 that divides n, so that scalars and arrays of them lie as they are.
func alignOf(n int64) int64 {
	if n == 0 {
		return 1
	}
	return 1 << min(bits.TrailingZeros64(uint64(n)), 3)
}

// storePiece stores bits [off, off+count) of a piece at byte at of the slot.
func (l *lowerer) storePiece(fs *fieldSlots, q debuginfo.Piece, off, at, count int64) {
	first, n, imm := q.BitOffset+off, count/8, fs.value.imm(at)
	switch {
	case q.Kind == debuginfo.InMemory:
		addr := l.settled(l.location(q.Expr).plus(first/8), n)
		l.copy(ir.Copy, l.word(addr), ir.None, imm, n, l.faultFor(addr))
	case q.Kind == debuginfo.InContext && n > 8:
		addr := sym{v: l.env(ir.EnvContext), off: q.Ctx + first/8, trust: inContext}
		l.copy(ir.Copy, l.word(addr), ir.None, imm, n, l.faultFor(addr))
	case q.Kind == debuginfo.IsBytes:
		for k := int64(0); k < n; k += 8 {
			m := min(8, n-k)
			l.putBytes(l.b.Const(int64(bitsFrom(q.Bytes, first+k*8, m*8))), m, imm+k)
		}
	case q.Kind == debuginfo.InRegister && isX87(q.Reg):
		// The state of the x87 is stored whole; the field is a part of it.
		s := &l.rec.slots[fs.value-1]
		s.size, s.align = amd64.X87Slot, 8
		fs.skip = amd64.X87Stack + 16*int64(arch.Reg(q.Reg)-processor.Vector0-amd64.NumXMM) + first/8
		l.b.Emit(ir.Instr{Op: ir.PutReg, Dst: ir.None, A: ir.None, B: ir.None, Imm: imm, Aux: amd64.X87, Fault: ir.NoBlock})
	case isXMM(q.Reg) && q.Kind == debuginfo.InRegister && first+count > 64:
		storeVector(l, fs, q.Reg, first/8, n, imm)
	default:
		l.putBytes(l.pieceBits(q, off, count), n, imm)
	}
}

// storeVector stores bytes [from, from+n) of a vector register: the halves that have them, whole. Of a field that is a part
// of them, the others are skipped.
func storeVector(l *lowerer, fs *fieldSlots, reg int, from, n, imm int64) {
	const half = 16
	low, high := from/half, (from+n+half-1)/half
	s := &l.rec.slots[fs.value-1]
	if s.align = 8; n < (high-low)*half {
		s.size, fs.skip = (high-low)*half, from-low*half
	}
	for k := low; k < high; k++ {
		wide := int64(reg) - int64(processor.Vector0)
		if k > 0 {
			wide += amd64.UpperYMM
		}
		l.b.Emit(ir.Instr{Op: ir.PutReg, W: half, Dst: ir.None, A: ir.None, B: ir.None, Imm: imm + (k-low)*half, Aux: wide, Fault: ir.NoBlock})
	}
}

// putBytes stores the low n (at most 8) bytes of v.
func (l *lowerer) putBytes(v ir.Value, n, imm int64) {
	for at := int64(0); at < n; {
		w := int64(1) << (bits.Len64(uint64(n-at)) - 1)
		l.put(l.shiftRight(v, at*8), uint8(w), imm+at)
		at += w
	}
}
