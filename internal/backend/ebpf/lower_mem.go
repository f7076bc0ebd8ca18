package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// memory reads memory.
type memory struct {
	*planner
	*emitter
	*stubs
	*operands
	// behind has the values needed after each load, if loads may be repeated.
	behind map[*ir.Instr]valueSet
}

func init() { lower[ir.Load] = (*gen).loadMemory }

// A load of kernel memory where the kernel lets a program read any address (Features.RdonlyCast): the
// instruction gives 0 when it cannot read, or when the address is not the kernel's. So a nonzero value is
// right, and a 0 is read again out of line by a helper that distinguishes a fault from a zero.
func (me *memory) loadMemory(in *ir.Instr) {
	if !me.an.direct() {
		me.loadByHelper(in)
		return
	}
	d := scratch
	if me.al.loc[in.Dst].kind == locReg {
		d = me.al.loc[in.Dst].r
	}
	off := me.pointer(in, d)
	signed := in.Signed && in.W < 8
	if signed && me.c.Features.V4 {
		me.emit(asm.LoadMemSX(d, scratch, off, sizeOf(in.W)))
	} else {
		me.emit(asm.LoadMem(d, scratch, off, sizeOf(in.W)))
	}
	back := me.newLabel()
	if !me.mustBeReadable(in) {
		slow := me.newLabel()
		me.jumpIfImm(asm.JEq, 8, d, 0, slow)
		me.rare(func() { me.lookAgain(in, d, slow, back) })
	}
	me.bind(back)
	if signed && !me.c.Features.V4 {
		me.signExtend(d, in.W)
	}
	me.store(in.Dst, d)
}

// pointer makes the scratch register point to in's address less the offset that
// it returns; d may be used on the way.
func (me *memory) pointer(in *ir.Instr, d asm.Register) int16 {
	imm := in.Imm
	k, known := me.number(in.A)
	if known {
		imm += int64(k)
	}
	me.load(scratch, me.an.zero())
	if !known {
		a := me.at(in.A)
		if a.kind != locReg {
			me.load(me.extra(), in.A)
			a.r = secondScratch
		}
		me.emit(asm.Add.Reg(scratch, a.r))
	}
	if imm >= math.MinInt16 && imm <= math.MaxInt16 && !known {
		return int16(imm)
	}
	if imm == int64(int32(imm)) {
		me.emit(asm.Add.Imm(scratch, int32(imm)))
		return 0
	}
	if d == scratch {
		d = me.extra()
	} else if !known && me.at(in.A) == (loc{kind: locReg, r: d}) {
		panic("BUG: ebpf: the address shares the result's register")
	}
	me.movImm(d, imm)
	me.emit(asm.Add.Reg(scratch, d))
	return 0
}

// mustBeReadable: the address is a number in the kernel's half, and readable.
func (me *memory) mustBeReadable(in *ir.Instr) bool {
	k, ok := me.number(in.A)
	return ok && in.Fault == ir.NoBlock && int64(k)+in.Imm < 0
}

// lookAgain determines, out of line, whether a zero in d is a fault. Most cases need no call: null pointers are
// faults, and a nonzero word in the same 64 bytes shows that the memory is readable. Otherwise a helper reads
// again.
func (me *memory) lookAgain(in *ir.Instr, d asm.Register, slow, back label) {
	me.bind(slow)
	f, guarded := me.an.faults(in)
	helper := me.newLabel()
	if d != scratch {
		me.addressIn(scratch, in)
		if guarded {
			me.jumpIfImm(asm.JLT, 8, scratch, pageSize, me.faultLabel(in, f))
			me.jumpIfImm(asm.JSGE, 8, scratch, 0, helper)
			me.neighbours(in.W, d, helper, back)
		} else {
			me.jumpIfImm(asm.JSLT, 8, scratch, 0, back)
		}
	}
	me.bind(helper)
	me.readAgain(in, d)
	me.jump(back)
}

// addressIn makes r = in's address as a number.
func (me *memory) addressIn(r asm.Register, in *ir.Instr) {
	if k, ok := me.number(in.A); ok {
		me.movImm(r, int64(k)+in.Imm)
		return
	}
	switch at := me.at(in.A); {
	case at.kind == locReg && at.r == r:
		me.addImm(r, in.Imm, scratch)
	case at.kind != locReg && -in.Imm != int64(int32(-in.Imm)):
		me.sum(r, in.A, in.Imm, me.extra())
	default:
		me.sum(r, in.A, in.Imm, asm.R0)
	}
}

// neighbours jumps to back if a word of the same 64 bytes as the address in the scratch register is not
// zero; to helper if there is none, or if the access crosses the end of a page. d is zero again at back.
func (me *memory) neighbours(w uint8, d asm.Register, helper, back label) {
	const line = 64
	zero := me.newLabel()
	me.mov(d, scratch)
	me.emit(asm.And.Imm(d, pageSize-1))
	me.jumpIfImm(asm.JGT, 8, d, pageSize-int32(w), helper)
	me.emit(asm.And.Imm(scratch, -line))
	me.load(d, me.an.zero())
	me.emit(asm.Add.Reg(d, scratch))
	for off := int16(0); off < line; off += 8 {
		me.emit(asm.LoadMem(scratch, d, off, asm.DWord))
		me.jumpIfImm(asm.JNE, 8, scratch, 0, zero)
	}
	me.jump(helper)
	me.bind(zero)
	me.movImm(d, 0)
	me.jump(back)
}

// readAgain reads by a helper into d, keeping what lives in r1 to r5.
func (me *memory) readAgain(in *ir.Instr, d asm.Register) {
	var saved []ir.Value
	me.behind[in].each(func(v ir.Value) {
		if at := me.al.loc[v]; at.kind == locReg && at.r < firstSaved {
			saved = append(saved, v)
		}
	})
	for k, v := range saved {
		me.emit(asm.StoreMem(asm.R10, me.area(areaSave)+8*int16(k), me.al.loc[v].r, asm.DWord))
	}
	me.readWord(in)
	for k, v := range saved {
		me.emit(asm.LoadMem(me.al.loc[v].r, asm.R10, me.area(areaSave)+8*int16(k), asm.DWord))
	}
	if f, ok := me.an.faults(in); ok {
		me.jumpIfImm(asm.JNE, 8, asm.R0, 0, me.faultLabel(in, f))
	}
	me.emit(asm.LoadMem(d, asm.R10, me.area(areaWord), sizeOf(in.W)))
	if in.Signed && me.c.Features.V4 {
		me.signExtend(d, in.W)
	}
}

// readWord calls the helper that reads in's bytes into areaWord; r0 is 0 when it could.
func (me *memory) readWord(in *ir.Instr) {
	known := me.addressArgument(in)
	me.pointTo(asm.R1, asm.R10, int64(me.area(areaWord)))
	me.movImm(asm.R2, int64(in.W))
	me.probeRead(false, known)
}

func (me *memory) loadByHelper(in *ir.Instr) {
	me.readWord(in)
	if f, ok := me.an.faults(in); ok {
		me.jumpIfImm(asm.JNE, 8, asm.R0, 0, me.faultLabel(in, f))
	}
	d := me.dest(in.Dst)
	me.emit(asm.LoadMem(d, asm.R10, me.area(areaWord), sizeOf(in.W)))
	if in.Signed {
		me.signExtend(d, in.W)
	}
	me.store(in.Dst, d)
}

// side returns the half of the address space in which an address lies.
type side uint8

const (
	unknownSide side = iota
	kernelSide
	userSide
	contextBlock // in the kernel, whatever Space is
)

// immIsElse: Imm is no offset of the address, but a place in the record or in a key.
func immIsElse(in *ir.Instr) bool { return in.Op.Info().Record || in.Op == ir.KeyText }

// addressArgument puts in's address into r3.
func (me *memory) addressArgument(in *ir.Instr) side {
	imm := in.Imm
	if immIsElse(in) {
		imm = 0
	}
	if k, ok := me.number(in.A); ok {
		me.movImm(asm.R3, int64(k)+imm)
		return sideOf(k + uint64(imm))
	}
	if (me.at(in.A) == loc{kind: locReg, r: asm.R3}) {
		me.addImm(asm.R3, imm, asm.R1)
	} else {
		me.sum(asm.R3, in.A, imm, asm.R1)
	}
	return unknownSide
}

func sideOf(a uint64) side {
	if int64(a) < 0 {
		return kernelSide
	}
	return userSide
}

// probeRead calls the helper for the address in r3: r1 is where to, r2 how much.
// str chooses the helpers for strings. A null pointer is not tried: the
// processor's fault would take half a microsecond.
func (me *memory) probeRead(str bool, s side) {
	kernel, user := asm.FnProbeReadKernel, asm.FnProbeReadUser
	if me.c.Sleeps {
		user = asm.FnCopyFromUser
	}
	if str { // has no form that sleeps: see retryStr
		kernel, user = asm.FnProbeReadKernelStr, asm.FnProbeReadUserStr
	}
	switch {
	case s == contextBlock:
		me.call(kernel)
	case me.c.Space == User || s == userSide:
		me.call(user)
	case s == kernelSide:
		me.call(kernel)
	default:
		low, null, done := me.newLabel(), me.newLabel(), me.newLabel()
		me.jumpIfImm(asm.JSGE, 8, asm.R3, 0, low)
		me.call(kernel)
		me.bind(done)
		me.rare(func() {
			me.bind(low)
			me.jumpIfImm(asm.JLT, 8, asm.R3, pageSize, null)
			me.call(user)
			me.jump(done)
			me.bind(null)
			me.movImm(asm.R0, -1)
			me.jump(done)
		})
	}
}

// faultLabel is where in goes when it could not read: the address goes to the
// parameter of block f.
func (me *memory) faultLabel(in *ir.Instr, f ir.BlockID) label {
	to := me.al.loc[me.p.Blocks[f].Params[0]]
	if to.kind == locNone {
		return me.blocks[f]
	}
	l := me.newLabel()
	me.rare(func() {
		me.bind(l)
		r := scratch
		if to.kind == locReg {
			r = to.r
		}
		at := *in
		if immIsElse(in) {
			at.Imm = 0
		}
		me.addressIn(r, &at)
		me.move(to, loc{kind: locReg, r: r})
		me.jump(me.blocks[f])
	})
	return l
}
