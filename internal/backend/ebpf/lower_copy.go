package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// copies copies memory to the record, and compares it with texts.
type copies struct {
	*planner
	*emitter
	*stubs
	*operands
	*memory
	*surroundings
}

func init() {
	lower[ir.Copy] = (*gen).copy
	lower[ir.CopyN] = (*gen).copyN
	lower[ir.CopyMax] = (*gen).copyMax
	lower[ir.CopyFrames] = (*gen).copyFrames
	lower[ir.CopyComm] = (*gen).copyComm
}

// Operations that copy memory to the record. All of them may use r0 to r5; the
// address survives them (see keepsA), the helpers zero what they cannot fill.

func (cp *copies) copy(in *ir.Instr) {
	if in.Aux == 0 {
		return
	}
	if off, ok := cp.an.contextCopy(in); ok {
		cp.copyContext(in, off)
		return
	}
	side := cp.addressArgument(in)
	cp.target(in.Imm)
	cp.movImm(asm.R2, in.Aux)
	cp.probeRead(false, cp.contextSide(in, side))
	cp.faultIfNot0(in)
}

// contextSide: the context is in the kernel, whatever Space is.
func (cp *copies) contextSide(in *ir.Instr, s side) side {
	if _, ok := cp.an.contextOffset(in.A); ok {
		return contextBlock
	}
	return s
}

// target makes r1 point to off in the record.
func (cp *copies) target(off int64) {
	cp.load(asm.R1, cp.an.record())
	cp.emit(asm.Add.Imm(asm.R1, int32(off)))
}

func (cp *copies) faultIfNot0(in *ir.Instr) {
	if f, ok := cp.an.faults(in); ok {
		cp.jumpIfImm(asm.JNE, 8, asm.R0, 0, cp.faultLabel(in, f))
	}
}

// copyContext copies a few bytes of the context by loads of the program.
func (cp *copies) copyContext(in *ir.Instr, from int64) {
	to := in.Imm
	for left := in.Aux; left > 0; {
		w := uint8(8)
		for int64(w) > left || from%int64(w) != 0 {
			w /= 2
		}
		cp.loadContext(scratch, from, w, false)
		tmp := scratch
		if cp.at(cp.an.record()).kind != locReg || to > 1<<15-8 {
			tmp = cp.extra()
		}
		base, off := cp.recordAt(to, tmp)
		cp.emit(asm.StoreMem(base, off, scratch, sizeOf(w)))
		from, to, left = from+int64(w), to+int64(w), left-int64(w)
	}
}

// counted writes the length and flags of a Counted slot from register r (the
// length in its low half).
func (cp *copies) counted(in *ir.Instr, r asm.Register) {
	base, off := cp.recordAt(in.Imm, asm.R1)
	cp.emit(asm.StoreMem(base, off, r, asm.DWord))
}

func (cp *copies) countedImm(in *ir.Instr, n, flags int64) {
	if k := n | flags<<32; k == int64(int32(k)) {
		base, off := cp.recordAt(in.Imm, asm.R1)
		cp.storeImm(base, off, 8, k)
		return
	}
	cp.movImm(scratch, n|flags<<32)
	cp.counted(in, scratch)
}

func (cp *copies) copyN(in *ir.Instr) {
	cp.load(asm.R2, in.B)
	large, sized, done := cp.newLabel(), cp.newLabel(), cp.newLabel()
	cp.jumpIfImm(asm.JGT, 8, asm.R2, int32(in.Aux), large)
	cp.mov(scratch, asm.R2)
	cp.bind(sized)
	if in.Aux == 0 {
		cp.counted(in, scratch)
		cp.rare(func() {
			cp.bind(large)
			cp.movImm(scratch, ir.FlagTruncated<<32)
			cp.jump(sized)
		})
		return
	}
	side := cp.addressArgument(in)
	cp.counted(in, scratch)
	cp.jumpIfImm(asm.JEq, 8, asm.R2, 0, done)
	cp.target(in.Imm + ir.CountedHeader)
	cp.probeRead(false, side)
	cp.faultIfNot0(in)
	cp.bind(done)
	cp.rare(func() {
		cp.bind(large)
		cp.movImm(asm.R2, in.Aux)
		cp.movImm(scratch, in.Aux|ir.FlagTruncated<<32)
		cp.jump(sized)
	})
}

// copyMax reads all bytes at once; when that fails, those up to the end of a page.
func (cp *copies) copyMax(in *ir.Instr) {
	if in.Aux == 0 {
		cp.countedImm(in, 0, 0)
		return
	}
	side := cp.addressArgument(in)
	cp.target(in.Imm + ir.CountedHeader)
	cp.movImm(asm.R2, in.Aux)
	cp.probeRead(false, side)
	part, done := cp.newLabel(), cp.newLabel()
	cp.jumpIfImm(asm.JNE, 8, asm.R0, 0, part)
	cp.countedImm(in, in.Aux, 0)
	cp.bind(done)
	cp.rare(func() {
		cp.bind(part)
		none := cp.newLabel()
		cp.prefix(in, none)
		cp.counted(in, scratch)
		cp.jump(done)
		cp.bind(none)
		cp.countedImm(in, 0, 0)
		cp.jump(done)
	})
}

const pageSize = 4096

// prefix reads as many pages of in's memory as are readable, if not all Aux bytes could be read. The length
// is in r0; if it is 0, it jumps to none. It tries the longest prefix first (a helper that fails zeroes the
// buffer), always from the start, so that the verifier sees that the bytes fit.
func (cp *copies) prefix(in *ir.Instr, none label) {
	n := (in.Aux + pageSize - 2) / pageSize // ends of pages within the bytes
	if n == 0 {
		cp.jump(none)
		return
	}
	size := cp.area(areaLoop)
	turns := size + 8
	side := cp.addressArgument(in)
	cp.emit(asm.And.Imm(asm.R3, pageSize-1))
	cp.movImm(asm.R2, n*pageSize)
	cp.emit(asm.Sub.Reg(asm.R2, asm.R3))
	if n > 1 {
		cp.storeImm(asm.R10, turns, 8, n)
	}
	cp.emit(asm.StoreMem(asm.R10, size, asm.R2, asm.DWord))
	again, shorter, found := cp.here(), cp.newLabel(), cp.newLabel()
	cp.emit(asm.LoadMem(asm.R2, asm.R10, size, asm.DWord))
	cp.jumpIfImm(asm.JGE, 8, asm.R2, int32(in.Aux), shorter)
	cp.addressArgument(in)
	cp.target(in.Imm + ir.CountedHeader)
	cp.probeRead(false, side)
	cp.jumpIfImm(asm.JEq, 8, asm.R0, 0, found)
	cp.bind(shorter)
	if n > 1 {
		cp.emit(asm.LoadMem(asm.R2, asm.R10, size, asm.DWord))
		cp.emit(asm.Sub.Imm(asm.R2, pageSize))
		cp.emit(asm.StoreMem(asm.R10, size, asm.R2, asm.DWord))
		cp.emit(asm.LoadMem(asm.R2, asm.R10, turns, asm.DWord))
		cp.emit(asm.Sub.Imm(asm.R2, 1))
		cp.emit(asm.StoreMem(asm.R10, turns, asm.R2, asm.DWord))
		cp.jumpIfImm(asm.JNE, 8, asm.R2, 0, again)
	}
	cp.jump(none)
	cp.bind(found)
	cp.emit(asm.LoadMem(asm.R0, asm.R10, size, asm.DWord))
}

// userStack is BPF_F_USER_STACK.
const userStack = 1 << 8

func (cp *copies) copyFrames(in *ir.Instr) {
	size := in.Aux &^ 7
	if size == 0 {
		cp.countedImm(in, 0, 0)
		return
	}
	cp.load(asm.R1, cp.an.context())
	cp.load(asm.R2, cp.an.record())
	cp.emit(asm.Add.Imm(asm.R2, int32(in.Imm+ir.CountedHeader)))
	cp.movImm(asm.R3, size)
	cp.movImm(asm.R4, in.Aux&1*userStack)
	cp.call(asm.FnGetStack)
	ok := cp.newLabel()
	cp.jumpIfImm(asm.JSGE, 8, asm.R0, 0, ok)
	cp.movImm(asm.R0, 0)
	cp.bind(ok)
	cp.counted(in, scratch)
}

func (cp *copies) copyComm(in *ir.Instr) {
	if !cp.an.commFromTask() {
		base, off := cp.recordAt(in.Imm, asm.R1)
		cp.storeImm(base, off, 8, 0) // Linux 6.1 does not pad
		cp.storeImm(base, off+8, 8, 0)
		cp.target(in.Imm)
		cp.movImm(asm.R2, ir.CommSize)
		cp.call(asm.FnGetCurrentComm)
		return
	}
	cp.call(asm.FnGetCurrentTask)
	cp.load(asm.R2, cp.an.zero())
	cp.emit(asm.Add.Reg(asm.R2, asm.R0))
	off := int16(cp.c.Features.TaskComm)
	base, to := cp.recordAt(in.Imm, asm.R1)
	cp.emit(asm.LoadMem(asm.R3, asm.R2, off, asm.DWord))
	cp.emit(asm.LoadMem(asm.R4, asm.R2, off+8, asm.DWord))
	cp.emit(asm.StoreMem(base, to, asm.R3, asm.DWord))
	cp.emit(asm.StoreMem(base, to+8, asm.R4, asm.DWord))
}
