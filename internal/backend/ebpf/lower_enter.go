package ebpf

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

// search is a function that looks at all slots of a window, and inserts the key where it is to. It has the words of the key in r1 and r2 and in r3 the tag
// of a shown slot of the key; of a longer key r1 points to the words, and r2 has the tag. Its result is the offset of the slot in the table, or 0. Being
// global, with types, it is verified by itself.
type search struct {
	table  int64
	insert bool
	name   string
	start  label
	body   func()
}

// search is the function for an operation. It is made when it is first wanted.
func (ma *mapped) search(in *ir.Instr) *search {
	insert := in.Op == ir.MapSlot
	for _, s := range ma.searches {
		if s.table == in.Aux && s.insert == insert {
			return s
		}
	}
	s := &search{table: in.Aux, insert: insert, name: fmt.Sprintf("jalon_find%d", in.Aux), start: ma.newLabel()}
	if insert {
		s.name = fmt.Sprintf("jalon_slot%d", in.Aux)
	}
	tab := &ma.c.Maps[in.Aux]
	l := &look{
		mapped: ma, in: in, tab: tab, insert: insert, one: insert && !ma.an.p.Maps[in.Aux].Cells, keys: keyPointer,
		found: ma.newLabel(), none: ma.newLabel(), claimed: ma.newLabel(),
	}
	s.body = func() {
		ma.bind(s.start)
		l.function(s.name)
	}
	ma.searches = append(ma.searches, s)
	return s
}

// Registers of a function beside those of look.
const (
	keyPointer = asm.R6 // to a longer key
	other      = asm.R7
	another    = asm.R8
	looked     = asm.R9 // how often a slot may still be looked at
)

// wasted is a word on the stack of the function that only takes time.
const wasted = -8

// callFrame is the least that the kernel counts for the stack of a function that is called.
const callFrame = 32

// word64 is the type of a word.
var word64 = &btf.Int{Name: "unsigned long", Size: 8}

// typed gives the first instruction of a function its type.
func typed(i asm.Instruction, name string, params ...btf.FuncParam) asm.Instruction {
	proto := &btf.FuncProto{Return: word64, Params: params}
	return btf.WithFuncMetadata(i.WithSymbol(name), &btf.Func{Name: name, Type: proto, Linkage: btf.GlobalFunc})
}

// function emits a search.
func (l *look) function(name string) {
	param := func(name string, t btf.Type) btf.FuncParam { return btf.FuncParam{Name: name, Type: t} }
	if words := l.tab.KeyWords(); words > 2 {
		size := uint32(8 * words)
		key := &btf.Struct{Name: fmt.Sprintf("jalon_key%d", words), Size: size, Members: []btf.Member{
			{Name: "words", Type: &btf.Array{Index: &btf.Int{Name: "unsigned int", Size: 4}, Type: word64, Nelems: uint32(words)}},
		}}
		l.emit(typed(asm.Mov.Reg(keyPointer, asm.R1), name, param("key", &btf.Pointer{Target: key}), param("tag", word64)))
		l.mov(asm.R3, asm.R2)
		l.jumpIfImm(asm.JEq, 8, keyPointer, 0, l.none) // it never is: the verifier does not know
	} else {
		l.emit(typed(asm.Or.Imm(asm.R3, maps.Shown), name, param("word0", word64), param("word1", word64), param("tag", word64)))
	}
	l.first()
	l.window()
}

// window looks at all slots of the window.
func (l *look) window() {
	full := l.newLabel()
	for range maps.Window {
		taken, next := l.newLabel(), l.newLabel()
		l.emit(asm.LoadMem(asm.R5, asm.R0, maps.Tag, asm.DWord))
		l.jumpIfImm(asm.JNE, 8, asm.R5, 0, taken)
		if l.insert {
			l.claimFree(next)
		} else {
			l.jump(l.none)
		}
		l.bind(taken)
		l.await(next, full)
		l.again(full)
		l.compare(next)
		l.jump(l.found)
		l.bind(next)
		l.emit(asm.Add.Imm(asm.R0, int32(l.tab.Stride())))
		l.emit(asm.Add.Imm(asm.R4, int32(l.tab.Stride())))
	}
	if l.insert {
		l.takeGone(full)
		l.bind(full)
		l.tablePointer(asm.R5, l.in, maps.Full)
		l.movImm(asm.R0, 1)
		l.emit(asm.AddAtomic.Mem(asm.R5, asm.R0, asm.DWord, 0))
	}
	l.bind(l.none)
	l.movImm(asm.R0, 0)
	l.emit(asm.Return())
	if l.insert {
		l.bind(l.claimed)
		l.takeRoom(full)
		l.fill()
	}
	l.bind(l.found)
	l.mov(asm.R0, asm.R4)
	l.emit(asm.Add.Imm(asm.R0, maps.HeaderSize))
	l.emit(asm.Return())
}

// claimFree takes the free slot that r0 points to, unless there is no room. If another one has been faster, r5 is the slot's tag then.
func (l *look) claimFree(next label) {
	l.room(next)
	l.mov(asm.R5, asm.R0)
	l.movImm(asm.R0, 0)
	l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Claimed))
	l.emit(compareExchange(asm.R5, asm.R3, maps.Tag))
	l.jumpIfImm(asm.JEq, 8, asm.R0, 0, l.claimed)
	l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Claimed))
	l.mov(asm.R0, asm.R5)
	l.emit(asm.LoadMem(asm.R5, asm.R0, maps.Tag, asm.DWord))
}

// claims is how often a slot is looked at again that another program has claimed for the same key. Each time takes some nanoseconds, by locked instructions: while
// one CPU writes to the slot and the other reads it, its line goes forth and back between them.
const claims = 200

// await waits for a slot that is claimed for the same key, whose tag is in r5. Then it goes to full, or, where a key may have two slots, to next.
func (l *look) await(next, full label) {
	if !l.insert {
		return
	}
	end := full
	if !l.one {
		end = next
	}
	l.inState(maps.Claimed, func() (still label) {
		again := l.newLabel()
		l.movImm(looked, claims)
		l.storeImm(asm.R10, wasted, 8, 0)
		l.bind(again)
		for range 4 {
			l.emit(asm.AddAtomic.Mem(asm.R10, looked, asm.DWord, wasted))
		}
		l.emit(asm.Sub.Imm(looked, 1))
		l.jumpIfImm(asm.JEq, 8, looked, 0, end)
		return again
	})
}

// inState has code for a slot whose tag, in r5, is that of the key in a state. It is emitted out of the way. Then the tag is loaded again: if it
// is still that, the code goes to the label that emit returns.
func (l *look) inState(state int32, emit func() (still label)) {
	is, ready := l.newLabel(), l.newLabel()
	jumpIfStill := func(to label) {
		l.emit(asm.Xor.Imm(asm.R5, maps.Shown^state))
		l.jumpIf(asm.JEq, 8, asm.R5, asm.R3, to)
		l.emit(asm.Xor.Imm(asm.R5, maps.Shown^state))
	}
	jumpIfStill(is)
	l.bind(ready)
	l.rare(func() {
		l.bind(is)
		still := emit()
		l.emit(asm.LoadMem(asm.R5, asm.R0, maps.Tag, asm.DWord))
		jumpIfStill(still)
		l.jump(ready)
	})
}

// again makes a retired slot of the key, whose tag is in r5, a hidden one. It goes to full if it does not get it.
func (l *look) again(full label) {
	if !l.insert || !l.tab.Reuse {
		return
	}
	l.inState(maps.Retired, func() (still label) {
		l.mov(asm.R5, asm.R0)
		l.mov(asm.R0, asm.R3)
		l.emit(asm.Xor.Imm(asm.R0, maps.Shown^maps.Retired))
		l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Hidden))
		l.emit(compareExchange(asm.R5, asm.R3, maps.Tag))
		l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Hidden))
		l.mov(asm.R0, asm.R5)
		return full // it was retired once more
	})
}

// room goes to none if there is no room for another key. The slot is taken only then: see takeRoom.
func (l *look) room(none label) {
	if l.tab.Limit == 0 {
		return
	}
	l.tablePointer(asm.R5, l.in, maps.Room)
	l.emit(asm.LoadMem(asm.R5, asm.R5, 0, asm.DWord))
	l.jumpIfImm(asm.JSLE, 8, asm.R5, 0, none)
}

// takeRoom takes the room of one key for the slot that r5 points to, which is claimed. If there is none, since others were faster, it leaves the slot with
// Gone and goes to full.
func (l *look) takeRoom(full label) {
	if l.tab.Limit == 0 {
		return
	}
	has := l.newLabel()
	l.tablePointer(asm.R0, l.in, maps.Room)
	l.movImm(other, -1)
	take := asm.FetchAdd.Mem(asm.R0, other, asm.DWord, 0)
	take.Constant = int64(asm.FetchAdd >> 8) // as in compareExchange
	l.emit(take)
	l.jumpIfImm(asm.JSGT, 8, other, 0, has)
	l.movImm(other, 1)
	l.emit(asm.AddAtomic.Mem(asm.R0, other, asm.DWord, 0))
	l.leave(full)
	l.bind(has)
}

// leave leaves the claimed slot that r5 points to with Gone, and goes to full.
func (l *look) leave(full label) {
	l.movImm(asm.R0, maps.Gone)
	l.emit(asm.StoreMem(asm.R5, maps.Tag, asm.R0, asm.DWord))
	l.jump(full)
}

// takeGone takes a slot of the window that jalon has given back. r0 and r4 are behind the window.
func (l *look) takeGone(full label) {
	if l.tab.Sets == 0 && !l.tab.Reuse {
		return
	}
	l.room(full)
	stride, got := int32(l.tab.Stride()), l.newLabel()
	l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Claimed))
	for range maps.Window {
		next := l.newLabel()
		l.emit(asm.Add.Imm(asm.R0, -stride))
		l.emit(asm.Add.Imm(asm.R4, -stride))
		l.mov(asm.R5, asm.R0)
		l.emit(asm.LoadMem(asm.R0, asm.R5, maps.Tag, asm.DWord))
		l.jumpIfImm(asm.JNE, 8, asm.R0, maps.Gone, next)
		l.emit(compareExchange(asm.R5, asm.R3, maps.Tag))
		l.jumpIfImm(asm.JEq, 8, asm.R0, maps.Gone, got)
		l.bind(next)
		l.mov(asm.R0, asm.R5)
	}
	l.rare(func() {
		l.bind(got)
		if l.one {
			l.alone(full)
		}
		l.jump(l.claimed)
	})
}

// alone looks whether another slot of the window is the key's: another one may have inserted it too, before this slot was given back, or meanwhile. Then it
// leaves the slot that r5 points to, which it has claimed, and whose offset is r4.
func (l *look) alone(full label) {
	tag, at := other, looked
	stride, two := int32(l.tab.Stride()), l.newLabel()
	l.mov(tag, asm.R3)
	l.emit(asm.Or.Imm(tag, maps.Shown))
	l.begin(at)
	for range maps.Window {
		next := l.newLabel()
		l.jumpIf(asm.JEq, 8, at, asm.R4, next)
		l.emit(asm.LoadMem(another, asm.R0, maps.Tag, asm.DWord))
		l.emit(asm.Or.Imm(another, maps.Shown))
		l.jumpIf(asm.JEq, 8, another, tag, two)
		l.bind(next)
		l.emit(asm.Add.Imm(asm.R0, stride))
		l.emit(asm.Add.Imm(at, stride))
	}
	l.rare(func() {
		l.bind(two)
		l.leave(full)
	})
}

// fill stores the key in the slot that r5 points to, which is claimed.
func (l *look) fill() {
	for n := range int64(l.tab.KeyWords()) {
		key := [...]asm.Register{asm.R1, asm.R2}[n&1]
		if l.tab.More > 0 {
			l.loadKey(key, n)
		}
		l.emit(asm.StoreMem(asm.R5, maps.Key+8*int16(n), key, asm.DWord))
	}
	l.emit(asm.Xor.Imm(asm.R3, maps.Claimed^maps.Hidden))
	l.emit(asm.StoreMem(asm.R5, maps.Tag, asm.R3, asm.DWord))
}
