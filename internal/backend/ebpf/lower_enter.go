package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/maps"
)

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
	l.emit(asm.StoreMem(asm.R10, l.area(areaWord), asm.R5, asm.DWord))
	l.tablePointer(asm.R0, l.in, maps.Room)
	l.movImm(asm.R5, -1)
	take := asm.FetchAdd.Mem(asm.R0, asm.R5, asm.DWord, 0)
	take.Constant = int64(asm.FetchAdd >> 8) // as in compareExchange
	l.emit(take)
	l.jumpIfImm(asm.JSGT, 8, asm.R5, 0, has)
	l.movImm(asm.R5, 1)
	l.emit(asm.AddAtomic.Mem(asm.R0, asm.R5, asm.DWord, 0))
	l.emit(asm.LoadMem(asm.R5, asm.R10, l.area(areaWord), asm.DWord))
	l.movImm(asm.R0, maps.Gone)
	l.emit(asm.StoreMem(asm.R5, maps.Tag, asm.R0, asm.DWord))
	l.jump(full)
	l.bind(has)
	l.emit(asm.LoadMem(asm.R5, asm.R10, l.area(areaWord), asm.DWord))
}

// stepBack goes to the slot before that of r0 and r4: r5 points to it, r0 is its tag.
func (l *look) stepBack(stride int32) {
	l.emit(asm.Add.Imm(asm.R0, -stride))
	l.emit(asm.Add.Imm(asm.R4, -stride))
	l.mov(asm.R5, asm.R0)
	l.emit(asm.LoadMem(asm.R0, asm.R5, maps.Tag, asm.DWord))
}

// takeGone takes a slot of the window that jalon has given back. r0 and r4 are behind the window.
func (l *look) takeGone(full label) {
	if l.tab.Sets == 0 {
		return
	}
	l.room(full)
	stride := int32(l.tab.Stride())
	l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Claimed))
	for range maps.Window {
		next := l.newLabel()
		l.stepBack(stride)
		l.jumpIfImm(asm.JNE, 8, asm.R0, maps.Gone, next)
		l.emit(compareExchange(asm.R5, asm.R3, maps.Tag))
		l.jumpIfImm(asm.JEq, 8, asm.R0, maps.Gone, l.claimed)
		l.bind(next)
		l.mov(asm.R0, asm.R5)
	}
}

// take claims the slot of the key that r0 points to if it is hidden: another key may take it otherwise. It goes to other if that has
// happened.
func (l *look) take(other label) {
	if !l.insert || !l.tab.Reuse {
		return
	}
	mine, lost := l.newLabel(), l.newLabel()
	l.emit(asm.LoadMem(asm.R5, asm.R0, maps.Tag, asm.DWord))
	l.jumpIf(asm.JEq, 8, asm.R5, asm.R3, mine)
	l.mov(asm.R5, asm.R0)
	l.mov(asm.R0, asm.R3)
	l.emit(asm.Xor.Imm(asm.R0, maps.Shown^maps.Hidden))
	l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Claimed))
	l.emit(compareExchange(asm.R5, asm.R3, maps.Tag))
	l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Claimed))
	l.emit(asm.Xor.Imm(asm.R0, maps.Shown^maps.Hidden))
	l.jumpIf(asm.JNE, 8, asm.R0, asm.R3, lost)
	l.mov(asm.R0, asm.R5)
	l.bind(mine)
	l.rare(func() {
		l.bind(lost)
		l.mov(asm.R0, asm.R5)
		l.jump(other)
	})
}

// reuse takes a slot of the window of a key that is deleted, and not pinned. r0 and r4 are behind the window.
func (l *look) reuse() {
	if !l.tab.Reuse {
		return
	}
	stride, taken := int32(l.tab.Stride()), l.claimed
	if l.tab.Pin > 0 {
		l.emit(asm.StoreMem(asm.R10, l.area(areaWord), asm.R1, asm.DWord))
		taken = l.newLabel()
		l.rare(func() {
			l.bind(taken)
			l.emit(asm.LoadMem(asm.R1, asm.R10, l.area(areaWord), asm.DWord))
			l.jump(l.claimed)
		})
	}
	l.emit(asm.Xor.Imm(asm.R3, maps.Shown^maps.Claimed))
	for range maps.Window {
		next := l.newLabel()
		l.stepBack(stride)
		l.emit(asm.Xor.Imm(asm.R0, maps.Hidden))
		l.jumpIfImm(asm.JSet, 8, asm.R0, maps.StateMask, next)
		if l.tab.Pin > 0 { // while the tag is the same, the key is
			l.emit(asm.LoadMem(asm.R1, asm.R5, maps.Key+8*int16(l.tab.Pin-1), asm.DWord))
			l.emit(asm.RSh.Imm(asm.R1, 32))
			l.jumpIfImm(asm.JNE, 8, asm.R1, 0, next)
		}
		l.emit(asm.Xor.Imm(asm.R0, maps.Hidden))
		l.emit(compareExchange(asm.R5, asm.R3, maps.Tag))
		l.emit(asm.LoadMem(asm.R0, asm.R5, maps.Tag, asm.DWord))
		l.jumpIf(asm.JEq, 8, asm.R0, asm.R3, taken) // no other thread has this tag
		l.bind(next)
		l.mov(asm.R0, asm.R5)
	}
}

// fill stores the key in the slot that r5 points to, which is claimed.
func (l *look) fill() {
	for n := range int64(l.tab.KeyWords()) {
		key := [...]asm.Register{asm.R1, asm.R2}[n&1]
		if l.tab.More > 0 {
			l.emit(asm.LoadMem(key, asm.R10, l.keyAt(n), asm.DWord))
		}
		l.emit(asm.StoreMem(asm.R5, maps.Key+8*int16(n), key, asm.DWord))
	}
	if l.tab.Reuse { // it is shown when its value is stored
		return
	}
	l.emit(asm.Xor.Imm(asm.R3, maps.Claimed^maps.Hidden))
	l.emit(asm.StoreMem(asm.R5, maps.Tag, asm.R3, asm.DWord))
}
