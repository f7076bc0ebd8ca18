package agentexpr

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// registers collects registers whole.
func (rc *recorder) registers(list []int) {
	end := rc.putX87(list)
	for _, n := range list {
		if !rc.readable(n) {
			rc.lay.Missing = append(rc.lay.Missing, n)
			continue
		}
		rc.lay.Regs = append(rc.lay.Regs, rc.register(n))
	}
	rc.size = max(rc.size, end)
}

// register collects one, which is readable.
func (rc *recorder) register(n int) RegSlot {
	reg := &Registers[n]
	s := RegSlot{Num: n, Size: reg.Size}
	switch reg.kind {
	case regX87:
		s.Offset, s.Present = rc.x87, rc.rare.present
		return s
	case regVector:
		if at, ok := rc.rare.upper[n]; ok {
			s.Offset = at
			return s
		}
		if reg.Size == wordSize {
			s.Offset = rc.narrow()
		} else {
			s.Offset = rc.slot(int64(reg.Size), 8)
		}
		rc.putVector(n, s.Offset)
		return s
	}
	x := rc.readReg(n)
	if k, ok := x.constant(); ok {
		s.Fixed = binary.LittleEndian.AppendUint64(nil, uint64(k))[:reg.Size]
		return s
	}
	if at, ok := rc.words[x.base]; ok && x.known {
		s.Offset = at
		return s
	}
	if reg.Size == wordSize {
		s.Offset = rc.narrow()
		rc.put(wordSize, s.Offset, x.v)
		return s
	}
	s.Offset = rc.slot(8, 8)
	rc.put(8, s.Offset, x.v)
	if x.known {
		rc.words[x.base] = s.Offset
	}
	return s
}

// narrow is a slot of 4 bytes; two share a word.
func (rc *recorder) narrow() int {
	if at := rc.half; at != 0 {
		rc.half = 0
		return at
	}
	at := rc.slot(8, 8)
	rc.half = at + wordSize
	return at
}

func (rc *recorder) putVector(n, at int) {
	reg := &Registers[n]
	rc.b.Emit(ir.Instr{Op: ir.PutReg, W: uint8(reg.Size), Imm: int64(at), Aux: reg.ir})
}

// putX87 stores the x87 state if the list contains any of it. Much of its slot is unused. The other registers
// of the list, which are always written, go there; the next slot begins at end.
func (rc *recorder) putX87(list []int) (end int64) {
	if rc.x87 != 0 || !rc.wantsX87(list) {
		return 0
	}
	rc.x87 = rc.slot(amd64.X87Slot, 8)
	rc.b.Emit(ir.Instr{Op: ir.PutReg, Aux: amd64.X87, Imm: int64(rc.x87)})
	end = rc.size
	rc.size = int64(rc.x87) + amd64.X87Bytes
	return end
}

// wantsX87 reports whether any of the list is a register of the x87 that can be read.
func (rc *recorder) wantsX87(list []int) bool {
	for _, n := range list {
		if n < len(Registers) && Registers[n].kind == regX87 && rc.readable(n) {
			return true
		}
	}
	return false
}
