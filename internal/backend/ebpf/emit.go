package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"
)

// emitter emits instructions, and deals out the stack.
type emitter struct {
	*code
	areas [numAreas]int
	stack int // bytes used
	// keyWords is the number of words of the largest key on the stack.
	keyWords int
}

// area is a part of the stack that is not a spilled value.
type area int

const (
	areaWord   area = iota // what a helper reads
	areaSave               // r1 to r5 around a call in the cold section
	areaLoop               // the state of a loop over pages
	areaText               // a piece of memory to compare
	areaResult             // of Result
	areaTurn               // of a reservation: the number of the attempt, what was reserved before, where the context goes, the epoch of the newest, the thread
	areaDone               // of a ring that is overwritten: the entry of the sub-buffer, what the event adds to it
	areaPid                // the numbers of a thread and its process, and the way to them
	areaParts              // of a number of bits
	areaKey                // of a map
	areaWalk               // the state of a walk along the stack
	areaTables             // of the pages of a process's code
	areaIntern             // of a stack that is entered into the table of stacks
	numAreas
)

var areaSizes = [numAreas]int{areaWord: 8, areaSave: 40, areaLoop: 16, areaText: textPiece, areaResult: 8, areaTurn: 40, areaDone: 16, areaPid: 24, areaParts: 48, areaWalk: walkSize, areaTables: 24, areaIntern: internSize}

// area gives the offset from the frame pointer.
func (em *emitter) area(a area) int16 {
	if em.areas[a] == 0 {
		size := areaSizes[a]
		if a == areaKey {
			size = 8 * em.keyWords
		}
		em.stack += size
		em.areas[a] = em.stack
	}
	return -int16(em.areas[a])
}

// mov copies a register.
func (em *emitter) mov(d, s asm.Register) {
	if d != s {
		em.emit(asm.Mov.Reg(d, s))
	}
}

// movImm puts a number into a register.
func (em *emitter) movImm(d asm.Register, k int64) {
	switch {
	case k == int64(int32(k)):
		em.emit(asm.Mov.Imm(d, int32(k)))
	case k >= 0 && k <= math.MaxUint32:
		em.emit(asm.Mov.Imm32(d, int32(uint32(k))))
	default:
		em.emit(asm.LoadImm(d, k, asm.DWord))
	}
}

// addImm adds a number to the number in d; tmp may be used. It subtracts: see sum.
func (em *emitter) addImm(d asm.Register, k int64, tmp asm.Register) {
	switch {
	case k == 0:
	case -k == int64(int32(-k)):
		em.emit(asm.Sub.Imm(d, int32(-k)))
	default:
		em.movImm(tmp, k)
		em.emit(asm.Add.Reg(d, tmp))
	}
}

// storeImm stores a number of w bytes; k must fit 32 bits with sign when w is 8.
func (em *emitter) storeImm(base asm.Register, off int16, w uint8, k int64) {
	em.emit(asm.Instruction{OpCode: asm.StoreImmOp(sizeOf(w)), Dst: base, Offset: off, Constant: int64(int32(k))})
}

func (em *emitter) call(f asm.BuiltinFunc) { em.emit(f.Call()) }

func (em *emitter) alu(op asm.ALUOp, w uint8, d, s asm.Register) {
	if w == 4 {
		em.emit(op.Reg32(d, s))
		return
	}
	em.emit(op.Reg(d, s))
}

func (em *emitter) aluImm(op asm.ALUOp, w uint8, d asm.Register, k int32) {
	if w == 4 {
		em.emit(op.Imm32(d, k))
		return
	}
	em.emit(op.Imm(d, k))
}

func (em *emitter) zeroExtend(d asm.Register, w uint8) {
	switch w {
	case 1:
		em.emit(asm.And.Imm(d, 0xff))
	case 2:
		em.emit(asm.And.Imm(d, 0xffff))
	case 4:
		em.emit(asm.Mov.Reg32(d, d))
	}
}

func sizeOf(w uint8) asm.Size {
	switch w {
	case 1:
		return asm.Byte
	case 2:
		return asm.Half
	case 4:
		return asm.Word
	}
	return asm.DWord
}
