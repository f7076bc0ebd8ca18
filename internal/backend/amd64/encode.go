package amd64

// encode writes prefixes, REX, opcode, modrm, sib and displacement. tail is the
// number of immediate bytes that follow.
func (a *asm) encode(rw *row, w uint8, opcode uint16, reg Reg, regByte bool, rm rmOp, rmByte bool, tail int) {
	if rm.isMem && rm.m.seg != 0 {
		a.byte(rm.m.seg)
	}
	if w == 2 && rw.flags&fWide != 0 {
		a.byte(0x66)
	}
	if rw.pre != 0 {
		a.byte(rw.pre)
	}
	rex := byte(0)
	if w == 8 && rw.flags&fWide != 0 {
		rex |= 0x48
	}
	if reg&8 != 0 {
		rex |= 0x44
	}
	if regByte && reg >= 4 {
		rex |= 0x40
	}
	if rm.isMem {
		if rm.m.base != NoReg && rm.m.base&8 != 0 {
			rex |= 0x41
		}
		if rm.m.index != NoReg && rm.m.index&8 != 0 {
			rex |= 0x42
		}
	} else {
		if rm.r&8 != 0 {
			rex |= 0x41
		}
		if rmByte && rm.r >= 4 {
			rex |= 0x40
		}
	}
	if rex != 0 {
		a.byte(rex)
	}
	if opcode > 0xff {
		a.byte(byte(opcode >> 8))
	}
	a.byte(byte(opcode))
	if rm.isMem {
		a.modrmMem(reg&7, rm.m, tail)
	} else {
		a.byte(0xC0 | byte(reg&7)<<3 | byte(rm.r&7))
	}
}

func (a *asm) modrmMem(reg Reg, m mem, tail int) {
	r := byte(reg) << 3
	if m.rip {
		a.byte(r | 5)
		a.rips = append(a.rips, ripFix{at: a.here(), tail: tail, target: m.target, lab: m.lab, disp: m.disp, of: m.of})
		a.imm(0, 4)
		return
	}
	if m.base == NoReg {
		idx := byte(4)
		if m.index != NoReg {
			idx = byte(m.index & 7)
		}
		a.byte(r|4, scaleBits(m.scale)|idx<<3|5)
		a.imm(int64(m.disp), 4)
		return
	}
	mod, size := byte(0x80), 4
	switch {
	case m.of != sameEverywhere: // so that the code has the same size at all sites
	case m.disp == 0 && m.base&7 != RBP:
		mod, size = 0, 0
	case m.disp == int32(int8(m.disp)):
		mod, size = 0x40, 1
	}
	if m.index != NoReg || m.base&7 == RSP {
		idx := byte(4)
		if m.index != NoReg {
			if m.index == RSP {
				panic("BUG: amd64: rsp as index")
			}
			idx = byte(m.index & 7)
		}
		a.byte(mod|r|4, scaleBits(m.scale)|idx<<3|byte(m.base&7))
	} else {
		a.byte(mod | r | byte(m.base&7))
	}
	if m.of != sameEverywhere {
		a.sites = append(a.sites, siteField{at: a.here(), kind: fieldDisp, of: m.of})
	}
	a.imm(int64(m.disp), size)
}

func scaleBits(s uint8) byte {
	switch s {
	case 0, 1:
		return 0
	case 2:
		return 0x40
	case 4:
		return 0x80
	case 8:
		return 0xC0
	}
	panic("BUG: amd64: scale")
}

func (a *asm) finish(start point, i insn) {
	i.at = start
	if a.keep {
		i.bytes = a.buf[a.sec][start.off:]
		a.note(i)
	}
}

func opcodeFor(rw *row, op uint16, w uint8) uint16 {
	if w == 1 && rw.flags&fByte != 0 {
		return op - 1
	}
	return op
}

// rm emits reg <- op r/m.
func (a *asm) rm(op insnOp, w uint8, reg Reg, rm rmOp, c cc) {
	rw, start := &insns[op], a.here()
	if rw.rm == 0 {
		panic("BUG: amd64: no rm form of " + rw.name)
	}
	code := opcodeFor(rw, rw.rm, w)
	if op == iCMOV {
		code |= uint16(c)
	}
	byteW := w == 1 && rw.flags&fByte != 0
	a.encode(rw, w, code, reg, byteW, rm, byteW || rw.flags&fB8 != 0, 0)
	a.finish(start, insn{op: op, kind: kRM, w: w, reg: reg, rm: rm, cc: c})
}

// mr emits r/m <- op reg.
func (a *asm) mr(op insnOp, w uint8, rm rmOp, reg Reg) {
	rw, start := &insns[op], a.here()
	if rw.mr == 0 {
		panic("BUG: amd64: no mr form of " + rw.name)
	}
	byteW := w == 1 && rw.flags&fByte != 0
	a.encode(rw, w, opcodeFor(rw, rw.mr, w), reg, byteW, rm, byteW, 0)
	a.finish(start, insn{op: op, kind: kMR, w: w, reg: reg, rm: rm})
}

// mi emits r/m <- op imm; imm must fit the sign-extended 32-bit (or W-byte) form.
func (a *asm) mi(op insnOp, w uint8, rm rmOp, imm int64) {
	rw, start := &insns[op], a.here()
	if rw.mi == 0 && rw.mi8 == 0 {
		panic("BUG: amd64: no immediate form of " + rw.name)
	}
	code, size := rw.mi, 4
	switch w {
	case 1:
		imm, size = int64(int8(imm)), 1
	case 2:
		imm, size = int64(int16(imm)), 2
	case 4:
		imm = int64(int32(imm))
	}
	if imm != int64(int32(imm)) {
		panic("BUG: amd64: immediate too wide")
	}
	if rw.mi8 != 0 && (rw.mi == 0 || w != 1 && imm == int64(int8(imm))) {
		code, size = rw.mi8, 1
	}
	byteW := w == 1 && rw.flags&fByte != 0
	switch {
	case rw.mi == 0x81 && size == 4 && w >= 4 && !rm.isMem && rm.r == RAX: // a byte shorter
		if w == 8 {
			a.byte(0x48)
		}
		a.byte(rw.dig<<3 | 5)
	default:
		a.encode(rw, w, opcodeFor(rw, code, w), Reg(rw.dig), false, rm, byteW, size)
	}
	a.imm(imm, size)
	a.finish(start, insn{op: op, kind: kMI, w: w, rm: rm, imm: imm})
}

// rmi emits reg <- r/m * imm.
func (a *asm) rmi(w uint8, reg Reg, rm rmOp, imm int64) {
	rw, start := &insns[iIMULI], a.here()
	if w == 4 {
		imm = int64(int32(imm))
	}
	code, size := rw.rm, 4
	if imm == int64(int8(imm)) {
		code, size = rw.mi8, 1
	}
	a.encode(rw, w, code, reg, false, rm, false, size)
	a.imm(imm, size)
	a.finish(start, insn{op: iIMULI, kind: kRMI, w: w, reg: reg, rm: rm, imm: imm})
}

// m emits a one-operand instruction.
func (a *asm) m(op insnOp, w uint8, rm rmOp, c cc) {
	rw, start := &insns[op], a.here()
	code := opcodeFor(rw, rw.m, w)
	if op == iSET {
		code |= uint16(c)
	}
	a.encode(rw, w, code, Reg(rw.dig), false, rm, rw.flags&fB8 != 0 || w == 1 && rw.flags&fByte != 0, 0)
	a.finish(start, insn{op: op, kind: kM, w: w, rm: rm, cc: c})
}

// vextract stores the upper half of a ymm register (VEX.256.66.0F3A.W0 19 /r 01).
func (a *asm) vextract(m mem, ymm Reg) {
	start := a.here()
	// R, X and B are inverted; the map is 0F3A.
	b := byte(0xE3)
	if ymm&8 != 0 {
		b &^= 0x80
	}
	if m.index != NoReg && m.index&8 != 0 {
		b &^= 0x40
	}
	if m.base != NoReg && m.base&8 != 0 {
		b &^= 0x20
	}
	a.byte(0xC4, b, 0x7D, 0x19)
	a.modrmMem(ymm&7, m, 1)
	a.byte(1)
	a.finish(start, insn{op: iVEXTRACT, kind: kVEX, reg: ymm, rm: rmMem(m), imm: 1})
}

// plain emits an instruction without operands.
func (a *asm) plain(op insnOp) {
	rw, start := &insns[op], a.here()
	if op == iCQO {
		a.byte(0x48)
	}
	if rw.m > 0xff {
		a.byte(byte(rw.m >> 8))
	}
	a.byte(byte(rw.m))
	if op == iXGETBV {
		a.byte(0xD0)
	}
	a.finish(start, insn{op: op, kind: kPlain})
}

// movImm loads a constant in its shortest form; flags stay.
func (a *asm) movImm(r Reg, v int64) {
	start := a.here()
	switch {
	case v == int64(uint32(v)):
		if r&8 != 0 {
			a.byte(0x41)
		}
		a.byte(0xB8 | byte(r&7))
		a.imm(v, 4)
		a.finish(start, insn{op: iMOVI32, kind: kRegImm, w: 4, reg: r, imm: v})
	case v == int64(int32(v)):
		a.mi(iMOV, 8, rmReg(r), v)
	default:
		a.byte(0x48|byte(r>>3), 0xB8|byte(r&7))
		a.imm(v, 8)
		a.finish(start, insn{op: iMOVABS, kind: kRegImm, w: 8, reg: r, imm: v})
	}
}

// jcc emits a jump; its size is chosen by link.
func (a *asm) jcc(c cc, to label) {
	j := &jump{at: a.here(), to: to, cc: c, size: 2}
	a.note(insn{at: a.here(), kind: kJump, cc: c, lab: to})
	a.jumps[a.sec] = append(a.jumps[a.sec], j)
}

func (a *asm) jmp(to label) { a.jcc(ccAlways, to) }

// data emits bytes that are not instructions.
func (a *asm) data(b []byte) {
	start := a.here()
	a.byte(b...)
	a.finish(start, insn{kind: kData})
}
