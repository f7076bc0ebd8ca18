package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

func init() { lower[ir.Load] = (*gen).loadMemory }

// A load of kernel memory where the kernel lets a program read any address (Features.RdonlyCast): the
// instruction gives 0 when it cannot read, or when the address is not the kernel's. So a nonzero value is
// right, and a 0 is read again out of line by a helper that distinguishes a fault from a zero.
func (g *gen) loadMemory(in *ir.Instr) {
	if !g.an.direct() {
		g.loadByHelper(in)
		return
	}
	d := scratch
	if g.al.loc[in.Dst].kind == locReg {
		d = g.al.loc[in.Dst].r
	}
	off := g.pointer(in, d)
	signed := in.Signed && in.W < 8
	if signed && g.c.Features.V4 {
		g.emit(asm.LoadMemSX(d, scratch, off, sizeOf(in.W)))
	} else {
		g.emit(asm.LoadMem(d, scratch, off, sizeOf(in.W)))
	}
	back := g.newLabel()
	if !g.mustBeReadable(in) {
		slow := g.newLabel()
		g.jumpIfImm(asm.JEq, 8, d, 0, slow)
		g.rare(func() { g.lookAgain(in, d, slow, back) })
	}
	g.bind(back)
	if signed && !g.c.Features.V4 {
		g.signExtend(d, in.W)
	}
	g.store(in.Dst, d)
}

// pointer makes the scratch register point to in's address less the offset that
// it returns; d may be used on the way.
func (g *gen) pointer(in *ir.Instr, d asm.Register) int16 {
	imm := in.Imm
	k, known := g.number(in.A)
	if known {
		imm += int64(k)
	}
	g.load(scratch, g.an.zero())
	if !known {
		a := g.at(in.A)
		if a.kind != locReg {
			g.load(g.extra(), in.A)
			a.r = secondScratch
		}
		g.emit(asm.Add.Reg(scratch, a.r))
	}
	if imm >= math.MinInt16 && imm <= math.MaxInt16 && !known {
		return int16(imm)
	}
	if imm == int64(int32(imm)) {
		g.emit(asm.Add.Imm(scratch, int32(imm)))
		return 0
	}
	if d == scratch {
		d = g.extra()
	} else if !known && g.at(in.A) == (loc{kind: locReg, r: d}) {
		panic("BUG: ebpf: the address shares the result's register")
	}
	g.movImm(d, imm)
	g.emit(asm.Add.Reg(scratch, d))
	return 0
}

// mustBeReadable: the address is a number in the kernel's half, and readable.
func (g *gen) mustBeReadable(in *ir.Instr) bool {
	k, ok := g.number(in.A)
	return ok && in.Fault == ir.NoBlock && int64(k)+in.Imm < 0
}

// lookAgain determines, out of line, whether a zero in d is a fault. Most cases need no call: null pointers are
// faults, and a nonzero word in the same 64 bytes shows that the memory is readable. Otherwise a helper reads
// again.
func (g *gen) lookAgain(in *ir.Instr, d asm.Register, slow, back label) {
	g.bind(slow)
	f, guarded := g.an.faults(in)
	helper := g.newLabel()
	if d != scratch {
		g.addressIn(scratch, in)
		if guarded {
			g.jumpIfImm(asm.JLT, 8, scratch, pageSize, g.faultLabel(in, f))
			g.jumpIfImm(asm.JSGE, 8, scratch, 0, helper)
			g.neighbours(in.W, d, helper, back)
		} else {
			g.jumpIfImm(asm.JSLT, 8, scratch, 0, back)
		}
	}
	g.bind(helper)
	g.readAgain(in, d)
	g.jump(back)
}

// addressIn makes r = in's address as a number.
func (g *gen) addressIn(r asm.Register, in *ir.Instr) {
	if k, ok := g.number(in.A); ok {
		g.movImm(r, int64(k)+in.Imm)
		return
	}
	switch at := g.at(in.A); {
	case at.kind == locReg && at.r == r:
		g.addImm(r, in.Imm, scratch)
	case at.kind != locReg && -in.Imm != int64(int32(-in.Imm)):
		g.sum(r, in.A, in.Imm, g.extra())
	default:
		g.sum(r, in.A, in.Imm, asm.R0)
	}
}

// neighbours goes back when a word of the same 64 bytes as the address in the
// scratch register is not zero; to helper when there is none, or when the
// access runs over the end of a page. d is zero again at back.
func (g *gen) neighbours(w uint8, d asm.Register, helper, back label) {
	const line = 64
	zero := g.newLabel()
	g.mov(d, scratch)
	g.emit(asm.And.Imm(d, pageSize-1))
	g.jumpIfImm(asm.JGT, 8, d, pageSize-int32(w), helper)
	g.emit(asm.And.Imm(scratch, -line))
	g.load(d, g.an.zero())
	g.emit(asm.Add.Reg(d, scratch))
	for off := int16(0); off < line; off += 8 {
		g.emit(asm.LoadMem(scratch, d, off, asm.DWord))
		g.jumpIfImm(asm.JNE, 8, scratch, 0, zero)
	}
	g.jump(helper)
	g.bind(zero)
	g.movImm(d, 0)
	g.jump(back)
}

// readAgain reads by a helper into d, keeping what lives in r1 to r5.
func (g *gen) readAgain(in *ir.Instr, d asm.Register) {
	var saved []ir.Value
	g.behind[in].each(func(v ir.Value) {
		if at := g.al.loc[v]; at.kind == locReg && at.r < firstSaved {
			saved = append(saved, v)
		}
	})
	for k, v := range saved {
		g.emit(asm.StoreMem(asm.R10, g.area(areaSave)+8*int16(k), g.al.loc[v].r, asm.DWord))
	}
	g.readWord(in)
	for k, v := range saved {
		g.emit(asm.LoadMem(g.al.loc[v].r, asm.R10, g.area(areaSave)+8*int16(k), asm.DWord))
	}
	if f, ok := g.an.faults(in); ok {
		g.jumpIfImm(asm.JNE, 8, asm.R0, 0, g.faultLabel(in, f))
	}
	g.emit(asm.LoadMem(d, asm.R10, g.area(areaWord), sizeOf(in.W)))
	if in.Signed && g.c.Features.V4 {
		g.signExtend(d, in.W)
	}
}

// readWord calls the helper that reads in's bytes into areaWord; r0 is 0 when it could.
func (g *gen) readWord(in *ir.Instr) {
	known := g.addressArgument(in)
	g.pointTo(asm.R1, asm.R10, int64(g.area(areaWord)))
	g.movImm(asm.R2, int64(in.W))
	g.probeRead(false, known)
}

func (g *gen) loadByHelper(in *ir.Instr) {
	g.readWord(in)
	if f, ok := g.an.faults(in); ok {
		g.jumpIfImm(asm.JNE, 8, asm.R0, 0, g.faultLabel(in, f))
	}
	d := g.dest(in.Dst)
	g.emit(asm.LoadMem(d, asm.R10, g.area(areaWord), sizeOf(in.W)))
	if in.Signed {
		g.signExtend(d, in.W)
	}
	g.store(in.Dst, d)
}

// side says in which half an address lies.
type side uint8

const (
	unknownSide side = iota
	kernelSide
	userSide
	contextBlock // the kernel's, whatever Space says
)

// addressArgument puts in's address into r3.
func (g *gen) addressArgument(in *ir.Instr) side {
	imm := in.Imm
	if in.Op.Info().Record {
		imm = 0
	}
	if k, ok := g.number(in.A); ok {
		g.movImm(asm.R3, int64(k)+imm)
		return sideOf(k + uint64(imm))
	}
	if (g.at(in.A) == loc{kind: locReg, r: asm.R3}) {
		g.addImm(asm.R3, imm, asm.R1)
	} else {
		g.sum(asm.R3, in.A, imm, asm.R1)
	}
	return unknownSide
}

func sideOf(a uint64) side {
	if int64(a) < 0 {
		return kernelSide
	}
	return userSide
}

// pointTo makes d = base + off.
func (g *gen) pointTo(d, base asm.Register, off int64) {
	g.mov(d, base)
	if off != 0 {
		g.emit(asm.Add.Imm(d, int32(off)))
	}
}

// probeRead calls the helper for the address in r3: r1 is where to, r2 how much.
// str chooses the helpers for strings. A null pointer is not tried: the
// processor's fault would take half a microsecond.
func (g *gen) probeRead(str bool, s side) {
	kernel, user := asm.FnProbeReadKernel, asm.FnProbeReadUser
	if g.c.Sleeps {
		user = asm.FnCopyFromUser
	}
	if str { // has no form that sleeps: see retryStr
		kernel, user = asm.FnProbeReadKernelStr, asm.FnProbeReadUserStr
	}
	switch {
	case s == contextBlock:
		g.call(kernel)
	case g.c.Space == User || s == userSide:
		g.call(user)
	case s == kernelSide:
		g.call(kernel)
	default:
		low, null, done := g.newLabel(), g.newLabel(), g.newLabel()
		g.jumpIfImm(asm.JSGE, 8, asm.R3, 0, low)
		g.call(kernel)
		g.bind(done)
		g.rare(func() {
			g.bind(low)
			g.jumpIfImm(asm.JLT, 8, asm.R3, pageSize, null)
			g.call(user)
			g.jump(done)
			g.bind(null)
			g.movImm(asm.R0, -1)
			g.jump(done)
		})
	}
}

// faultLabel is where in goes when it could not read: the address goes to the
// parameter of block f.
func (g *gen) faultLabel(in *ir.Instr, f ir.BlockID) label {
	to := g.al.loc[g.p.Blocks[f].Params[0]]
	if to.kind == locNone {
		return g.blocks[f]
	}
	l := g.newLabel()
	g.rare(func() {
		g.bind(l)
		r := scratch
		if to.kind == locReg {
			r = to.r
		}
		at := *in
		if in.Op.Info().Record {
			at.Imm = 0
		}
		g.addressIn(r, &at)
		g.move(to, loc{kind: locReg, r: r})
		g.jump(g.blocks[f])
	})
	return l
}
