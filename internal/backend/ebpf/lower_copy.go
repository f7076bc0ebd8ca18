package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() {
	lower[ir.Copy] = (*gen).copy
	lower[ir.CopyN] = (*gen).copyN
	lower[ir.CopyMax] = (*gen).copyMax
	lower[ir.CopyFrames] = (*gen).copyFrames
	lower[ir.CopyComm] = (*gen).copyComm
}

// Operations that copy memory to the record. All of them may use r0 to r5; the
// address survives them (see keepsA), the helpers zero what they cannot fill.

func (g *gen) copy(in *ir.Instr) {
	if in.Aux == 0 {
		return
	}
	if off, ok := g.an.contextCopy(in); ok {
		g.copyContext(in, off)
		return
	}
	side := g.addressArgument(in)
	g.target(in.Imm)
	g.movImm(asm.R2, in.Aux)
	g.probeRead(false, g.contextSide(in, side))
	g.faultIfNot0(in)
}

// contextSide: the context lies in the kernel, whatever Space says.
func (g *gen) contextSide(in *ir.Instr, s side) side {
	if _, ok := g.an.contextOffset(in.A); ok {
		return contextBlock
	}
	return s
}

// target makes r1 point to off in the record.
func (g *gen) target(off int64) {
	g.load(asm.R1, g.an.record())
	g.emit(asm.Add.Imm(asm.R1, int32(off)))
}

func (g *gen) faultIfNot0(in *ir.Instr) {
	if f, ok := g.an.faults(in); ok {
		g.jumpIfImm(asm.JNE, 8, asm.R0, 0, g.faultLabel(in, f))
	}
}

// copyContext copies a few bytes of the context by loads of the program.
func (g *gen) copyContext(in *ir.Instr, from int64) {
	to := in.Imm
	for left := in.Aux; left > 0; {
		w := uint8(8)
		for int64(w) > left || from%int64(w) != 0 {
			w /= 2
		}
		g.loadContext(scratch, from, w, false)
		tmp := scratch
		if g.at(g.an.record()).kind != locReg || to > 1<<15-8 {
			tmp = g.extra()
		}
		base, off := g.recordAt(to, tmp)
		g.emit(asm.StoreMem(base, off, scratch, sizeOf(w)))
		from, to, left = from+int64(w), to+int64(w), left-int64(w)
	}
}

// counted writes the length and flags of a Counted slot from register r (the
// length in its low half).
func (g *gen) counted(in *ir.Instr, r asm.Register) {
	base, off := g.recordAt(in.Imm, asm.R1)
	g.emit(asm.StoreMem(base, off, r, asm.DWord))
}

func (g *gen) countedImm(in *ir.Instr, n, flags int64) {
	if k := n | flags<<32; k == int64(int32(k)) {
		base, off := g.recordAt(in.Imm, asm.R1)
		g.storeImm(base, off, 8, k)
		return
	}
	g.movImm(scratch, n|flags<<32)
	g.counted(in, scratch)
}

func (g *gen) copyN(in *ir.Instr) {
	g.load(asm.R2, in.B)
	large, sized, done := g.newLabel(), g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JGT, 8, asm.R2, int32(in.Aux), large)
	g.mov(scratch, asm.R2)
	g.bind(sized)
	if in.Aux == 0 {
		g.counted(in, scratch)
		g.rare(func() {
			g.bind(large)
			g.movImm(scratch, ir.FlagTruncated<<32)
			g.jump(sized)
		})
		return
	}
	side := g.addressArgument(in)
	g.counted(in, scratch)
	g.jumpIfImm(asm.JEq, 8, asm.R2, 0, done)
	g.target(in.Imm + ir.CountedHeader)
	g.probeRead(false, side)
	g.faultIfNot0(in)
	g.bind(done)
	g.rare(func() {
		g.bind(large)
		g.movImm(asm.R2, in.Aux)
		g.movImm(scratch, in.Aux|ir.FlagTruncated<<32)
		g.jump(sized)
	})
}

// copyMax reads all bytes at once; when that fails, those up to the end of a page.
func (g *gen) copyMax(in *ir.Instr) {
	if in.Aux == 0 {
		g.countedImm(in, 0, 0)
		return
	}
	side := g.addressArgument(in)
	g.target(in.Imm + ir.CountedHeader)
	g.movImm(asm.R2, in.Aux)
	g.probeRead(false, side)
	part, done := g.newLabel(), g.newLabel()
	g.jumpIfImm(asm.JNE, 8, asm.R0, 0, part)
	g.countedImm(in, in.Aux, 0)
	g.bind(done)
	g.rare(func() {
		g.bind(part)
		none := g.newLabel()
		g.prefix(in, none)
		g.counted(in, scratch)
		g.jump(done)
		g.bind(none)
		g.countedImm(in, 0, 0)
		g.jump(done)
	})
}

const pageSize = 4096

// prefix reads as many pages of in's memory as there are, when not all Aux
// bytes could be read: the length goes to r0; without any it jumps to none. It
// tries the longest first (a helper that fails zeroes what it read), always from
// the start, so that the verifier sees that the bytes fit.
func (g *gen) prefix(in *ir.Instr, none label) {
	n := (in.Aux + pageSize - 2) / pageSize // ends of pages within the bytes
	if n == 0 {
		g.jump(none)
		return
	}
	size := g.area(areaLoop)
	turns := size + 8
	side := g.addressArgument(in)
	g.emit(asm.And.Imm(asm.R3, pageSize-1))
	g.movImm(asm.R2, n*pageSize)
	g.emit(asm.Sub.Reg(asm.R2, asm.R3))
	if n > 1 {
		g.storeImm(asm.R10, turns, 8, n)
	}
	g.emit(asm.StoreMem(asm.R10, size, asm.R2, asm.DWord))
	again, shorter, found := g.here(), g.newLabel(), g.newLabel()
	g.emit(asm.LoadMem(asm.R2, asm.R10, size, asm.DWord))
	g.jumpIfImm(asm.JGE, 8, asm.R2, int32(in.Aux), shorter)
	g.addressArgument(in)
	g.target(in.Imm + ir.CountedHeader)
	g.probeRead(false, side)
	g.jumpIfImm(asm.JEq, 8, asm.R0, 0, found)
	g.bind(shorter)
	if n > 1 {
		g.emit(asm.LoadMem(asm.R2, asm.R10, size, asm.DWord))
		g.emit(asm.Sub.Imm(asm.R2, pageSize))
		g.emit(asm.StoreMem(asm.R10, size, asm.R2, asm.DWord))
		g.emit(asm.LoadMem(asm.R2, asm.R10, turns, asm.DWord))
		g.emit(asm.Sub.Imm(asm.R2, 1))
		g.emit(asm.StoreMem(asm.R10, turns, asm.R2, asm.DWord))
		g.jumpIfImm(asm.JNE, 8, asm.R2, 0, again)
	}
	g.jump(none)
	g.bind(found)
	g.emit(asm.LoadMem(asm.R0, asm.R10, size, asm.DWord))
}

// userStack is BPF_F_USER_STACK.
const userStack = 1 << 8

func (g *gen) copyFrames(in *ir.Instr) {
	size := in.Aux &^ 7
	if size == 0 {
		g.countedImm(in, 0, 0)
		return
	}
	g.load(asm.R1, g.an.context())
	g.load(asm.R2, g.an.record())
	g.emit(asm.Add.Imm(asm.R2, int32(in.Imm+ir.CountedHeader)))
	g.movImm(asm.R3, size)
	g.movImm(asm.R4, in.Aux&1*userStack)
	g.call(asm.FnGetStack)
	ok := g.newLabel()
	g.jumpIfImm(asm.JSGE, 8, asm.R0, 0, ok)
	g.movImm(asm.R0, 0)
	g.bind(ok)
	g.counted(in, scratch)
}

func (g *gen) copyComm(in *ir.Instr) {
	if !g.an.commFromTask() {
		base, off := g.recordAt(in.Imm, asm.R1)
		g.storeImm(base, off, 8, 0) // Linux 6.1 does not pad
		g.storeImm(base, off+8, 8, 0)
		g.target(in.Imm)
		g.movImm(asm.R2, ir.CommSize)
		g.call(asm.FnGetCurrentComm)
		return
	}
	g.call(asm.FnGetCurrentTask)
	g.load(asm.R2, g.an.zero())
	g.emit(asm.Add.Reg(asm.R2, asm.R0))
	off := int16(g.c.Features.TaskComm)
	base, to := g.recordAt(in.Imm, asm.R1)
	g.emit(asm.LoadMem(asm.R3, asm.R2, off, asm.DWord))
	g.emit(asm.LoadMem(asm.R4, asm.R2, off+8, asm.DWord))
	g.emit(asm.StoreMem(base, to, asm.R3, asm.DWord))
	g.emit(asm.StoreMem(base, to+8, asm.R4, asm.DWord))
}
