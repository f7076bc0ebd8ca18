package irgen

import (
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// records makes what writes to the record.
type records struct {
	*builder
	*values
}

// slot finds room for n bytes in the record, aligned mostly; false: none.
func (rs *records) slot(n int64) (int64, bool) {
	room := rs.room - ir.RecordHeader - n
	if room < 0 {
		return 0, false
	}
	off := ir.RecordHeader + rs.r.Int63n(room+1)
	if rs.r.Intn(4) != 0 {
		off &^= 7
	}
	return off, true
}

func (rs *records) put() {
	w := rs.width(ir.Put.Info().Widths)
	if off, ok := rs.slot(int64(w)); ok {
		rs.emit(ir.Instr{Op: ir.Put, W: w, A: rs.int(), Imm: off})
	}
}

func (rs *records) fput() {
	c := rs.float()
	if off, ok := rs.slot(c.Bytes()); ok {
		rs.emit(ir.Instr{Op: ir.FPut, A: rs.value(c), Imm: off})
	}
}

func (rs *records) putReg() {
	w := []uint8{1, 2, 4, 8, 16}[rs.r.Intn(5)]
	if off, ok := rs.slot(int64(w)); ok {
		rs.emit(ir.Instr{Op: ir.PutReg, W: w, Aux: int64(rs.r.Intn(16)), Imm: off})
	}
}

// putOther puts a register that no operation computes with.
func (rs *records) putOther() {
	w, n := uint8(16), int64(amd64.UpperYMM+rs.r.Intn(16))
	if rs.r.Intn(4) == 0 {
		w, n = 4, amd64.MXCSR
	}
	if off, ok := rs.slot(int64(w)); ok {
		rs.emit(ir.Instr{Op: ir.PutReg, W: w, Aux: n, Imm: off})
	}
}

func (rs *records) putX87() {
	if off, ok := rs.slot(amd64.X87Slot); ok {
		rs.emit(ir.Instr{Op: ir.PutReg, Aux: amd64.X87, Imm: off})
	}
}

// size is a number of bytes to copy into a slot with head bytes before them,
// and the slot's offset.
func (rs *records) size(head int64) (off, n int64, ok bool) {
	room := rs.room - ir.RecordHeader - head
	if room < 0 {
		return 0, 0, false
	}
	n = rs.r.Int63n(room + 1)
	if rs.r.Intn(2) == 0 {
		n = min(room, []int64{0, 1, 2, 4, 7, 8, 9, 15, 16, 17, 24, 32, 64}[rs.r.Intn(13)])
	}
	off, ok = rs.slot(head + n)
	return off, n, ok
}

func (rs *records) copy() {
	if off, n, ok := rs.size(0); ok {
		a := rs.access(n, false)
		rs.emit(ir.Instr{Op: ir.Copy, A: a.a, Imm: off, Aux: n, Fault: a.fault})
	}
}

func (rs *records) copyN() {
	off, n, ok := rs.size(ir.CountedHeader)
	if !ok {
		return
	}
	var b ir.Value
	switch rs.r.Intn(4) {
	case 0:
		b = rs.int()
	case 1:
		b = rs.constant(edge(rs.r))
	default:
		b = rs.bin(ir.And, 8, rs.int(), rs.constant(63))
	}
	a := rs.access(n, false)
	rs.emit(ir.Instr{Op: ir.CopyN, A: a.a, B: b, Imm: off, Aux: n, Fault: a.fault})
}

func (rs *records) copyStr() {
	if off, n, ok := rs.size(ir.CountedHeader); ok {
		w := []uint8{1, 1, 2, 4}[rs.r.Intn(4)]
		n -= n % int64(w)
		a := rs.access(n, false)
		rs.emit(ir.Instr{Op: ir.CopyStr, W: w, A: a.a, Imm: off, Aux: n, Fault: a.fault})
	}
}

func (rs *records) walk() {
	if off, n, ok := rs.size(ir.CountedHeader); ok && n >= 8 {
		sp, fp := rs.int(), rs.int()
		rs.emit(ir.Instr{Op: ir.Walk, A: sp, B: fp, Imm: off, Aux: n &^ 7})
	}
}

// intern makes a number of a stack, with which nothing is computed.
func (rs *records) intern() {
	sp, fp := rs.int(), rs.int()
	rs.hidden(ir.Instr{Op: ir.Intern, A: sp, B: fp, Aux: 8 * (1 + rs.r.Int63n(20))})
}

func (rs *records) copyMax() {
	if off, n, ok := rs.size(ir.CountedHeader); ok {
		a := rs.guarded(false)
		rs.emit(ir.Instr{Op: ir.CopyMax, A: a.a, Imm: off, Aux: n})
	}
}

// copyContext copies bytes of the context block.
func (rs *records) copyContext() {
	off, n, ok := rs.size(0)
	if !ok {
		return
	}
	n = min(n, ContextSize-8)
	from := 8 + rs.r.Int63n(ContextSize-8-n+1)
	if rs.r.Intn(2) == 0 {
		from &^= 7
	}
	a := rs.hidden(ir.Instr{Op: ir.Env, Imm: ir.EnvContext})
	a = rs.hidden(ir.Instr{Op: ir.Add, W: 8, A: a, B: rs.constant(from)})
	fault := ir.NoBlock
	if to, ok := rs.faultTarget(); ok && rs.r.Intn(2) == 0 {
		fault = to
	}
	rs.emit(ir.Instr{Op: ir.Copy, A: a, Imm: off, Aux: n, Fault: fault})
}

func (rs *records) copyFrames() {
	if off, n, ok := rs.size(ir.CountedHeader); ok {
		rs.emit(ir.Instr{Op: ir.CopyFrames, Imm: off, Aux: n&^7 | int64(rs.r.Intn(2))})
	}
}

// StackFrames is how many frames the stacks have of which StackID makes numbers.
const StackFrames = 20

// stackID makes a number of a stack, with which nothing is computed.
func (rs *records) stackID() {
	rs.hidden(ir.Instr{Op: ir.StackID, Aux: 8*StackFrames | int64(rs.r.Intn(2))})
}

// signal sends none.
func (rs *records) signal() {
	zero := rs.hidden(ir.Instr{Op: ir.Const})
	rs.hidden(ir.Instr{Op: ir.Signal, A: zero, Imm: int64(rs.r.Intn(2))})
}

// userStack makes a number of a program's stack, with which nothing is computed.
func (rs *records) userStack() {
	rs.hidden(ir.Instr{Op: ir.UserStack, A: rs.int(), Aux: 8 * StackFrames})
}

func (rs *records) copyComm() {
	if off, ok := rs.slot(ir.CommSize); ok {
		rs.emit(ir.Instr{Op: ir.CopyComm, Imm: off})
	}
}
