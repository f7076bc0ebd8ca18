package ebpf

import (
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

// Table is the table of a map: the single value of an array map.
type Table struct {
	Name string // of the map in the instructions
	maps.Shape
}

// mapped works on maps, by the protocol of package maps. A slot is its offset in the table, or 0.
type mapped struct {
	*planner
	*emitter
	*stubs
	*operands
	*memory
	searches []*search
}

func init() {
	lower[ir.MapSlot], lower[ir.MapFind] = (*gen).mapLook, (*gen).mapLook
	lower[ir.MapHas] = (*gen).mapHas
	lower[ir.MapSeen] = (*gen).mapSeen
	lower[ir.MapGet] = (*gen).mapGet
	lower[ir.MapSet] = (*gen).mapSet
	lower[ir.MapShow], lower[ir.MapHide] = (*gen).mapShow, (*gen).mapHide
	lower[ir.KeyWord] = (*gen).keyWord
	lower[ir.KeyText] = (*gen).keyText
}

// tablePointer makes d point to off in the table of in.
func (ma *mapped) tablePointer(d asm.Register, in *ir.Instr, off uint64) {
	ma.emit(asm.LoadMapValue(d, 0, uint32(off)).WithReference(ma.c.Maps[in.Aux].Name))
}

// keyAt is the place of a word of a key on the stack.
func (ma *mapped) keyAt(word int64) int16 { return ma.area(areaKey) + 8*int16(word) }

// look is a search for a key being emitted. r0 points to the slot, r1 and r2 have the key, r3 the tag of a shown slot of the key,
// r4 the slot's offset from the first. Of a longer key all words are in memory, on the program's stack, and r1 and r2 are free.
type look struct {
	*mapped
	in     *ir.Instr
	tab    *Table
	insert bool
	// one: a key never gets a second slot: see maps.Claims.
	one                  bool
	keys                 asm.Register // where the words of a longer key are, at key
	key                  int16
	found, none, claimed label // of a function
}

// mapLook looks at the first slot of the window in line: mostly the key is there. A function looks at the others. Each program has one for each
// table and operation, which the verifier looks through once, however often it is called.
func (ma *mapped) mapLook(in *ir.Instr) {
	l := &look{mapped: ma, in: in, tab: &ma.c.Maps[in.Aux], insert: in.Op == ir.MapSlot}
	if l.tab.Single {
		l.single()
		return
	}
	if l.keys = asm.R10; l.tab.More > 0 {
		l.key = ma.keyAt(0)
	}
	ma.arguments(argument{asm.R1, in.A}, argument{asm.R2, in.B})
	l.hash()
	l.first()
	slow, done := ma.newLabel(), ma.newLabel()
	ma.emit(asm.LoadMem(asm.R5, asm.R0, maps.Tag, asm.DWord))
	l.compare(slow)
	ma.emit(asm.Add.Imm(asm.R4, maps.HeaderSize))
	ma.bind(done)
	l.forget()
	ma.rare(func() {
		ma.bind(slow)
		if l.tab.More > 0 {
			ma.pointTo(asm.R1, asm.R10, int64(ma.keyAt(0)))
			ma.mov(asm.R2, asm.R3)
		}
		s := ma.search(in)
		ma.callTo(s.start, s.name)
		ma.mov(asm.R4, asm.R0)
		ma.jump(done)
	})
}

// first makes r0 point to the first slot of the window, of which r3 has the hash, and r3 the tag of a shown slot.
func (l *look) first() {
	l.begin(asm.R4)
	l.emit(asm.Or.Imm(asm.R3, maps.Shown))
}

// begin makes r0 point to the first slot of the window, and at the slot's offset. r3 has the hash, in any state.
func (l *look) begin(at asm.Register) {
	if n := l.tab.IndexShift(); n < 64 {
		l.mov(at, asm.R3)
		l.emit(asm.RSh.Imm(at, int32(n)))
		l.emit(asm.LSh.Imm(at, int32(bits.TrailingZeros64(l.tab.Stride()))))
	} else {
		l.movImm(at, 0)
	}
	l.tablePointer(asm.R0, l.in, maps.HeaderSize)
	l.emit(asm.Add.Reg(asm.R0, at))
}

// loadKey loads word n of a longer key.
func (l *look) loadKey(d asm.Register, n int64) {
	l.emit(asm.LoadMem(d, l.keys, l.key+8*int16(n), asm.DWord))
}

// single gives the only slot of a map.
func (l *look) single() {
	d := l.dest(l.in.Dst)
	if l.insert {
		l.movImm(d, maps.HeaderSize)
	} else { // times its bit for shown
		l.tablePointer(d, l.in, maps.HeaderSize)
		l.emit(asm.LoadMem(d, d, maps.Tag, asm.DWord))
		l.emit(asm.And.Imm(d, maps.Shown^maps.Hidden))
		l.emit(asm.Mul.Imm(d, maps.HeaderSize))
	}
	l.store(l.in.Dst, d)
}

// hash makes r3 the hash of the key.
func (l *look) hash() {
	l.movImm(asm.R4, factor(maps.Factor0))
	l.mov(asm.R3, asm.R1)
	l.emit(asm.Mul.Reg(asm.R3, asm.R4))
	l.movImm(asm.R5, factor(maps.Factor1))
	l.emit(asm.Mul.Reg(asm.R5, asm.R2))
	l.emit(asm.Add.Reg(asm.R3, asm.R5))
	if l.tab.More == 0 {
		return
	}
	l.emit(asm.StoreMem(asm.R10, l.keyAt(0), asm.R1, asm.DWord))
	l.emit(asm.StoreMem(asm.R10, l.keyAt(1), asm.R2, asm.DWord))
	for n := range int64(l.tab.More) {
		l.mov(asm.R5, asm.R3)
		l.emit(asm.RSh.Imm(asm.R5, maps.HashFold))
		l.emit(asm.Xor.Reg(asm.R3, asm.R5))
		l.emit(asm.LoadMem(asm.R5, asm.R10, l.keyAt(2+n), asm.DWord))
		l.emit(asm.Add.Reg(asm.R3, asm.R5))
		l.emit(asm.Mul.Reg(asm.R3, asm.R4))
	}
}

// factor keeps the compiler from refusing a constant.
func factor(v uint64) int64 { return int64(v) }

// compare goes to other unless the slot, whose tag is in r5, is that of the key.
func (l *look) compare(other label) {
	if l.insert { // a hidden one too
		l.emit(asm.Or.Imm(asm.R5, maps.Shown^maps.Hidden))
	}
	l.jumpIf(asm.JNE, 8, asm.R5, asm.R3, other)
	for n := range int64(l.tab.KeyWords()) {
		key := [...]asm.Register{asm.R1, asm.R2}[n&1]
		if l.tab.More > 0 {
			l.loadKey(key, n)
		}
		l.emit(asm.LoadMem(asm.R5, asm.R0, maps.Key+8*int16(n), asm.DWord))
		l.jumpIf(asm.JNE, 8, asm.R5, key, other)
	}
}

// forget makes the result of r4. The verifier would follow what comes after once for each slot of the window, since it knows
// another range of offsets for each. It knows nothing of 4 bytes in the upper half of a word of the stack.
func (l *look) forget() {
	last := int32(maps.HeaderSize + uint64(l.tab.Count()-1)*l.tab.Stride())
	ok := l.newLabel()
	l.emit(asm.StoreMem(asm.R10, l.area(areaWord)+4, asm.R4, asm.Word))
	l.emit(asm.LoadMem(asm.R0, asm.R10, l.area(areaWord)+4, asm.Word))
	l.emit(asm.And.Imm(asm.R0, (1<<bits.Len32(uint32(last))-1)&^7))
	l.jumpIfImm(asm.JLE, 8, asm.R0, last, ok)
	l.movImm(asm.R0, 0)
	l.bind(ok)
	l.store(l.in.Dst, asm.R0)
}

func (ma *mapped) mapHas(in *ir.Instr) {
	d := ma.dest(in.Dst)
	ma.load(d, in.A)
	ma.emit(asm.Neg.Imm(d, 0))
	ma.emit(asm.RSh.Imm(d, 63))
	ma.store(in.Dst, d)
}

// ofSlot emits f with a register that points to the slot, unless there is none; r0 is free, and 0 if there is none.
func (ma *mapped) ofSlot(in *ir.Instr, f func(slot asm.Register)) {
	none, p := ma.newLabel(), ma.extra()
	ma.load(scratch, in.A)
	ma.jumpIfImm(asm.JEq, 8, scratch, 0, none)
	ma.tablePointer(p, in, 0)
	ma.emit(asm.Add.Reg(p, scratch))
	f(p)
	ma.bind(none)
}

func (ma *mapped) mapSeen(in *ir.Instr) {
	ma.ofSlot(in, func(slot asm.Register) {
		ma.emit(asm.LoadMem(scratch, slot, maps.Tag, asm.DWord))
		ma.emit(asm.And.Imm(scratch, maps.Shown^maps.Hidden))
	})
	ma.store(in.Dst, scratch)
}

// valueAt is the offset of a word of the value in a slot.
func (ma *mapped) valueAt(in *ir.Instr) int16 {
	return int16(int64(ma.c.Maps[in.Aux].Value()) + 8*in.Imm)
}

func (ma *mapped) mapGet(in *ir.Instr) {
	ma.ofSlot(in, func(slot asm.Register) { ma.emit(asm.LoadMem(scratch, slot, ma.valueAt(in), asm.DWord)) })
	ma.store(in.Dst, scratch)
}

func (ma *mapped) mapSet(in *ir.Instr) {
	ma.ofSlot(in, func(slot asm.Register) {
		if k, ok := ma.small(in.B, 8); ok {
			ma.storeImm(slot, ma.valueAt(in), 8, int64(k))
			return
		}
		ma.emit(asm.StoreMem(slot, ma.valueAt(in), ma.reg(in.B, scratch), asm.DWord))
	})
}
