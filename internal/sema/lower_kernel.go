package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
)

func (l *lowerer) env(number int64) ir.Value {
	return l.b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: number, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// image is the address of vaddr in the module: known when the program is
// compiled, or, in a process that is known at the hit only, counted from where
// the site is.
func (l *lowerer) image(vaddr int64) sym {
	k := l.in.Kernel
	switch {
	case k == nil || !k.User:
		s := sym{v: ir.None, off: vaddr + int64(l.in.Bias), trust: inData}
		if k != nil && s.off >= 0 { // what is not in the kernel's half is no static data, whatever says so
			s.trust = noTrust
		}
		return s
	case k.Fixed:
		return constant(vaddr)
	}
	return sym{v: l.reg(ir.RegPC), off: vaddr - int64(l.in.Scope.PC())}
}

// filters emits what decides before the condition.
func (l *lowerer) filters() {
	k := l.in.Kernel
	if k.Take { // the other program has filtered
		v := l.b.Def(ir.I64, ir.Instr{Op: ir.Take, A: ir.None, B: ir.None, Fault: ir.NoBlock})
		l.leaveUnless(v)
		return
	}
	if k.Tgid != 0 {
		tgid := l.b.Bin(ir.Shr, 8, l.env(ir.EnvPidTgid), l.b.Const(32))
		l.leaveUnless(l.b.Bin(ir.Eq, 8, tgid, l.b.Const(int64(k.Tgid))))
	}
	if k.Cgroup != 0 {
		l.leaveUnless(l.b.Bin(ir.Eq, 8, l.env(ir.EnvCgroup), l.b.Const(int64(k.Cgroup))))
	}
}

// leaveSelf skips hits of process tgid. It comes after the condition, which is usually false and costs less
// than reading the process number.
func (l *lowerer) leaveSelf(tgid int) {
	who := l.b.Bin(ir.Shr, 8, l.env(ir.EnvPidTgid), l.b.Const(32))
	l.leaveUnless(l.b.Bin(ir.Ne, 8, who, l.b.Const(int64(tgid))))
}

// leaveUnless ends the hit, uncounted, when v is zero.
func (l *lowerer) leaveUnless(v ir.Value) {
	on, out := l.b.NewBlock("ours"), l.b.NewBlock("not ours")
	l.b.Branch(v, on, out)
	l.b.Start(out)
	l.decline()
	l.b.Exit()
	l.b.Start(on)
}

// decides ends a program that only decides, with v; false when it is none.
func (l *lowerer) decides(v int64) bool {
	switch k := l.in.Kernel; {
	case k.Give:
		l.b.Emit(ir.Instr{Op: ir.Give, A: l.b.Const(v)})
	case k.Gate:
		l.b.Emit(ir.Instr{Op: ir.Result, A: l.b.Const(v)})
	default:
		return false
	}
	l.b.Exit()
	return true
}

// decline is what a gate says of hits that do not pass. A program that gives
// leaves nothing: the other takes 0 then.
func (l *lowerer) decline() {
	if k := l.in.Kernel; k != nil && k.Gate {
		l.b.Emit(ir.Instr{Op: ir.Result, A: l.b.Const(0)})
	}
}

// takeComm takes the thread's name, which every record begins with.
func (l *lowerer) takeComm() slotID {
	id := l.rec.add(slot{size: ir.CommSize, align: 8, comm: true})
	l.b.Emit(ir.Instr{Op: ir.CopyComm, Imm: id.imm(0)})
	return id
}

// ctx reads w bytes at off of the context block, a multiple of w.
func (l *lowerer) ctx(off int64, w uint8, signed bool) ir.Value {
	return l.b.Def(ir.I64, ir.Instr{Op: ir.Ctx, W: w, Signed: signed && w < 8, Imm: off, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// readContext is the n bits of object p in the context block, as a scalar of size bytes.
func (l *lowerer) readContext(p place, n, size int64, signed bool) ir.Value {
	bit := p.addr.off*8 + p.lo
	if n == size*8 && bit%n == 0 && n&(n-1) == 0 {
		return l.ctx(bit/8, uint8(size), signed)
	}
	v := l.ctxBits(p.addr.off, p.addr.off+(p.obj+7)/8, p.lo, n)
	return l.fit(v, n, size, signed)
}

// ctxBits is n (at most 64) bits, from bit first behind byte lo of the context
// block on, in the low bits of the result. It reads aligned words inside of [lo, hi).
func (l *lowerer) ctxBits(lo, hi, first, n int64) ir.Value {
	bit := lo*8 + first
	for w := int64(8); w <= 64; w *= 2 {
		start := bit / w * w
		if bit+n <= start+w && start/8 >= lo && (start+w)/8 <= hi {
			return l.shiftRight(l.ctx(start/8, uint8(w/8), false), bit-start)
		}
	}
	v := ir.None
	for at, end := bit/8, (bit+n+7)/8; at < end; {
		w := int64(8)
		for at%w != 0 || at+w > end {
			w /= 2
		}
		part := l.ctx(at, uint8(w), false)
		if d := at*8 - bit; d < 0 {
			part = l.shiftRight(part, -d)
		} else {
			part = l.shiftLeft(part, d)
		}
		v = l.or(v, part)
		at += w
	}
	return v
}

// hideContext zeroes those of n bytes at off of the record that a program cannot read: its context has other
// data there.
func (l *lowerer) hideContext(imm, off, n int64) {
	if l.in.Kernel.Context == ContextRecord && off < commonBytes {
		l.putBytes(l.b.Const(0), min(n, commonBytes-off), imm)
	}
}

// dynamicWord is the offset and the length in bytes in the word of a dynamic array,
// read in parts where it is not aligned.
func dynamicWord(b *ir.Builder, off int64) (low, n ir.Value) {
	w := int64(4)
	for off%w != 0 {
		w /= 2
	}
	word := b.Def(ir.I64, ir.Instr{Op: ir.Ctx, W: uint8(w), Imm: off})
	for at := w; at < 4; at += w {
		part := b.Def(ir.I64, ir.Instr{Op: ir.Ctx, W: uint8(w), Imm: off + at})
		word = b.Bin(ir.Or, 8, word, b.Bin(ir.Shl, 8, part, b.Const(8*at)))
	}
	return b.Bin(ir.And, 8, word, b.Const(0xffff)), b.Bin(ir.Shr, 8, word, b.Const(16))
}

// dynamicParts is where a dynamic array is, and its length in bytes.
func (l *lowerer) dynamicParts(e *dynamic) (start sym, n ir.Value) {
	low, n := dynamicWord(l.b, e.off)
	start = sym{v: l.b.Bin(ir.Add, 8, l.env(ir.EnvContext), low)}
	if e.rel {
		start.off = e.off + 4
	}
	return start, n
}

// takeDynamic takes a dynamic array, at most limit elements.
func (l *lowerer) takeDynamic(e *dynamic, limit int64) fieldSlots {
	size := elemOf(e.t).Strip().Size * limit
	fs := l.newSlot(countedHeader+size, 8)
	start, n := l.dynamicParts(e)
	l.copy(ir.CopyN, l.word(start), n, fs.value.imm(0), size, l.faultFor(start))
	return fs
}

// dynamicEq compares a dynamic array of characters, which may end without a NUL.
func (l *lowerer) dynamicEq(e *dynamic, lit string) ir.Value {
	start, n := l.dynamicParts(e)
	want := l.b.Const(int64(len(lit)))
	longer, rest, exact := l.b.NewBlock("longer"), l.b.NewBlock("not longer"), l.b.NewBlock("as long")
	differs, join := l.b.NewBlock("text differs"), l.b.NewBlock("joined", ir.I64)
	l.b.Branch(l.b.Bin(ir.ULt, 8, want, n), longer, rest)
	l.b.Start(longer)
	l.b.Jump(join, l.strEq(start, lit))
	l.b.Start(rest)
	l.b.Branch(l.b.Bin(ir.Eq, 8, n, want), exact, differs)
	l.b.Start(exact)
	l.b.Jump(join, l.bytesEq(start, lit, 8))
	l.b.Start(differs)
	l.b.Jump(join, l.b.Const(0))
	l.b.Start(join)
	return l.b.Param(join, 0)
}

// maxFrames is how many frames the kernel gives at most (PERF_MAX_STACK_DEPTH).
const maxFrames = 127

// framesSize is the bytes of return addresses that $bt takes.
func framesSize(in *Input) int64 { return 8 * max(1, min(int64(in.StackLimit)/8, maxFrames)) }

func (l *lowerer) takeFrames(kind event.FieldKind) fieldSlots {
	size := framesSize(l.in)
	fs := l.newSlot(countedHeader+size, 8)
	which := int64(0)
	if kind == event.UserFrames {
		which = 1
	}
	l.b.Emit(ir.Instr{Op: ir.CopyFrames, Imm: fs.value.imm(0), Aux: size | which})
	return fs
}

// sdataSize bounds the bytes of $_sdata: what is fixed, and a string's limit for
// each dynamic array.
func sdataSize(in *Input) int64 {
	sd := in.Kernel.SData
	n := int64(sd.Fixed) + int64(len(sd.Dynamic)*in.StringLimit)
	return roundUp(min(n, groupLimit), 8)
}

// takeSData takes the record of a tracepoint.
func (l *lowerer) takeSData(sd *SData) fieldSlots {
	size := sdataSize(l.in)
	fs := l.newSlot(countedHeader+size, 8)
	lost := ir.NoBlock
	if len(sd.Dynamic) > 0 {
		lost = l.faultFor(sym{v: l.env(ir.EnvContext)}) // a length that lies must not lead out of the record unguarded
	}
	sd.Copy(l.b, fs.value.imm(0), size, lost)
	return fs
}

// Copy emits the copy of a tracepoint's record to a Counted slot of size bytes at
// offset at of the record: up to the end of its last dynamic array. Of the first 8
// bytes, which a program does not see, the thread's number is filled in
// (common_pid); the others are zero, or with Text.TickCount the low 32 bits of the tick count. Where the lengths in the record lead out of
// readable memory, lost is taken; it is needed only for records with dynamic arrays.
func (sd *SData) Copy(b *ir.Builder, at, size int64, lost ir.BlockID) {
	env := func(word int64) ir.Value { return b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: word}) }
	put := func(v ir.Value, off int64) { b.Emit(ir.Instr{Op: ir.Put, W: 4, A: v, Imm: off}) }
	stamp := func() {
		if sd.Text != nil && sd.Text.TickCount {
			put(env(ir.EnvJiffies), at+countedHeader)
		}
	}
	if len(sd.Dynamic) == 0 { // its length is known, and what is not written is zero
		put(b.Const(int64(sd.Fixed)), at)
		stamp()
		put(env(ir.EnvPidTgid), at+countedHeader+4)
		if rest := int64(sd.Fixed) - commonBytes; rest > 0 {
			from := b.Bin(ir.Add, 8, env(ir.EnvContext), b.Const(commonBytes))
			b.Emit(ir.Instr{Op: ir.Copy, A: from, Imm: at + countedHeader + commonBytes, Aux: rest, Fault: ir.NoBlock})
		}
		return
	}
	n := b.Const(int64(sd.Fixed))
	for _, off := range sd.Dynamic {
		low, length := dynamicWord(b, off)
		end := b.Bin(ir.Add, 8, low, length)
		if relAt(sd.Type, off) {
			end = b.Bin(ir.Add, 8, end, b.Const(off+4))
		}
		n = larger(b, n, end)
	}
	b.Emit(ir.Instr{Op: ir.CopyN, A: env(ir.EnvContext), B: n, Imm: at, Aux: size, Fault: lost})
	put(b.Const(0), at+countedHeader)
	stamp()
	put(env(ir.EnvPidTgid), at+countedHeader+4)
}

// relAt reports whether the dynamic array whose word is at byte off counts from there.
func relAt(t *ctype.Type, off int64) bool {
	if t == nil || !isRecord(t) {
		return false
	}
	for _, f := range t.Strip().Fields() {
		if f.BitOffset == off*8 {
			_, rel, _ := ctype.Dynamic(f.Type)
			return rel
		}
	}
	return false
}

// larger is the larger of two unsigned numbers.
func larger(b *ir.Builder, x, y ir.Value) ir.Value {
	mask := b.Un(ir.Neg, 8, b.Bin(ir.ULt, 8, x, y))
	diff := b.Bin(ir.And, 8, b.Bin(ir.Xor, 8, x, y), mask)
	return b.Bin(ir.Xor, 8, x, diff)
}
