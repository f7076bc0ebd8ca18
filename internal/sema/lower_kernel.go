package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
)

// takeComm takes the thread's name, which every record begins with.
func (l *lowerer) takeComm() slotID {
	id := l.rec.add(slot{size: ir.CommSize, align: 8, comm: true})
	l.b.Emit(ir.Instr{Op: ir.CopyComm, Imm: id.imm(0)})
	return id
}

// hideContext zeroes those of n bytes at off of the record that a program cannot read: its context has other
// data there.
func (l *lowerer) hideContext(imm, off, n int64) {
	if l.in.Kernel.Context == ContextRecord && off < commonBytes {
		l.putBytes(l.b.Const(0), min(n, commonBytes-off), imm)
	}
}

// dynamicWord is the offset and the length in bytes in the word of a dynamic array, which is read in parts
// if it is not aligned.
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
func (vs *values) dynamicParts(e *dynamic) (start sym, n ir.Value) {
	low, n := dynamicWord(vs.b, e.off)
	start = sym{v: vs.b.Bin(ir.Add, 8, vs.env(ir.EnvContext), low)}
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
func (vs *values) dynamicEq(e *dynamic, lit string) ir.Value {
	start, n := vs.dynamicParts(e)
	want := vs.b.Const(int64(len(lit)))
	longer, rest, exact := vs.b.NewBlock("longer"), vs.b.NewBlock("not longer"), vs.b.NewBlock("as long")
	differs, join := vs.b.NewBlock("text differs"), vs.b.NewBlock("joined", ir.I64)
	vs.b.Branch(vs.b.Bin(ir.ULt, 8, want, n), longer, rest)
	vs.b.Start(longer)
	vs.b.Jump(join, vs.strEq(start, lit))
	vs.b.Start(rest)
	vs.b.Branch(vs.b.Bin(ir.Eq, 8, n, want), exact, differs)
	vs.b.Start(exact)
	vs.b.Jump(join, vs.bytesEq(start, lit, 8))
	vs.b.Start(differs)
	vs.b.Jump(join, vs.b.Const(0))
	vs.b.Start(join)
	return vs.b.Param(join, 0)
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

// sdataSize bounds the bytes of $_sdata: the fixed part, and a string's limit for each dynamic array.
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
