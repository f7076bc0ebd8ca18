package agentexpr

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// registers collects registers whole.
func (l *lowerer) registers(list []int) {
	end := l.putX87(list)
	for _, n := range list {
		if !l.readable(n) {
			l.lay.Missing = append(l.lay.Missing, n)
			continue
		}
		l.lay.Regs = append(l.lay.Regs, l.register(n))
	}
	l.size = max(l.size, end)
}

// register collects one, which is readable.
func (l *lowerer) register(n int) RegSlot {
	reg := &Registers[n]
	s := RegSlot{Num: n, Size: reg.Size}
	switch reg.kind {
	case regX87:
		s.Offset, s.Present = l.x87, l.rare.present
		return s
	case regVector:
		if at, ok := l.rare.upper[n]; ok {
			s.Offset = at
			return s
		}
		if reg.Size == wordSize {
			s.Offset = l.narrow()
		} else {
			s.Offset = l.slot(int64(reg.Size), 8)
		}
		l.putVector(n, s.Offset)
		return s
	}
	x := l.readReg(n)
	if k, ok := x.constant(); ok {
		s.Fixed = binary.LittleEndian.AppendUint64(nil, uint64(k))[:reg.Size]
		return s
	}
	if at, ok := l.words[x.base]; ok && x.known {
		s.Offset = at
		return s
	}
	if reg.Size == wordSize {
		s.Offset = l.narrow()
		l.put(wordSize, s.Offset, x.v)
		return s
	}
	s.Offset = l.slot(8, 8)
	l.put(8, s.Offset, x.v)
	if x.known {
		l.words[x.base] = s.Offset
	}
	return s
}

// narrow is a slot of 4 bytes; two share a word.
func (l *lowerer) narrow() int {
	if at := l.half; at != 0 {
		l.half = 0
		return at
	}
	at := l.slot(8, 8)
	l.half = at + wordSize
	return at
}

func (l *lowerer) putVector(n, at int) {
	reg := &Registers[n]
	l.b.Emit(ir.Instr{Op: ir.PutReg, W: uint8(reg.Size), Imm: int64(at), Aux: reg.ir})
}

// putX87 stores the x87 state if the list contains any of it. Much of its slot is unused. The other registers
// of the list, which are always written, go there; the next slot begins at end.
func (l *lowerer) putX87(list []int) (end int64) {
	if l.x87 != 0 || !l.wantsX87(list) {
		return 0
	}
	l.x87 = l.slot(amd64.X87Slot, 8)
	l.b.Emit(ir.Instr{Op: ir.PutReg, Aux: amd64.X87, Imm: int64(l.x87)})
	end = l.size
	l.size = int64(l.x87) + amd64.X87Bytes
	return end
}

// wantsX87 reports whether any of the list is a register of the x87 that can be read.
func (l *lowerer) wantsX87(list []int) bool {
	for _, n := range list {
		if n < len(Registers) && Registers[n].kind == regX87 && l.readable(n) {
			return true
		}
	}
	return false
}
