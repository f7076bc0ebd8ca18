package amd64

import "github.com/jalon-trace/jalon/internal/ir"

func init() {
	lower[ir.CopyStr] = (*gen).lowerCopyStr
	lower[ir.KeyText] = (*gen).lowerKeyText
}

// lowerKeyText copies as lowerCopyStr, to words that are zero before. A string that cannot be read whole is a fault.
func (cp *copies) lowerKeyText(in *ir.Instr) {
	src, dst := cp.pointer(in.A, 0, in.Aux), cp.keyMem(in.Imm)
	end := cp.a.newLabel()
	c := &strCopy{
		copies: cp, src: src, dst: dst, max: in.Aux, i: cp.scratch(), t: cp.scratch(), w: cp.scratch(),
		unreadable: cp.copyFault(in, src), truncated: end, end: end,
	}
	if c.unreadable != noLabel {
		cp.nullTest(in.A, src.base, c.unreadable)
	}
	for off := int32(0); int64(off) < in.Aux; off += 8 {
		cp.mi(iMOV, 8, rmMem(dst.plus(off)), 0)
	}
	cp.movImm(c.i, 0)
	c.head()
	c.words()
	cp.a.bind(end)
}

// lowerCopyStr copies byte by byte up to a word border, then by aligned words,
// which lie in one page each: a word is readable when its first byte is. Wide
// characters are copied one by one.
func (cp *copies) lowerCopyStr(in *ir.Instr) {
	src, dst := cp.pointer(in.A, 0, in.Aux), at(cp.rec(), int32(in.Imm))
	if in.Aux == 0 {
		cp.mi(iMOV, 4, rmMem(dst.plus(slotLen)), 0)
		cp.mi(iMOV, 4, rmMem(dst.plus(slotFlags)), ir.FlagTruncated)
		return
	}
	c := &strCopy{
		copies: cp, src: src, dst: dst.plus(slotBytes), max: in.Aux,
		i: cp.scratch(), t: cp.scratch(), w: cp.scratch(),
		unreadable: cp.a.newLabel(), truncated: cp.a.newLabel(), end: cp.a.newLabel(),
	}
	first := cp.copyFault(in, src)
	if first != noLabel {
		cp.nullTest(in.A, src.base, first)
	}
	store := cp.a.newLabel()
	cp.movImm(c.i, 0)
	if in.W == 1 {
		c.head()
		c.words()
	} else {
		c.wide(in.W)
	}
	cp.a.bind(c.end)
	cp.movImm(c.t, 0)
	cp.a.bind(store)
	cp.mr(iMOV, 4, rmMem(dst.plus(slotLen)), c.i)
	cp.mr(iMOV, 4, rmMem(dst.plus(slotFlags)), c.t)
	cp.later(func() {
		cp.a.bind(c.unreadable)
		if first != noLabel {
			cp.mr(iTEST, 4, rmReg(c.i), c.i)
			cp.a.jcc(ccE, first)
		}
		cp.movImm(c.t, ir.FlagUnreadable)
		cp.a.jmp(store)
		cp.a.bind(c.truncated)
		cp.movImm(c.t, ir.FlagTruncated)
		cp.a.jmp(store)
	})
}

// strCopy is a string copy being emitted.
type strCopy struct {
	*copies
	src, dst                   mem
	max                        int64
	i, t, w                    Reg
	unreadable, truncated, end label
}

// byte copies one byte and falls through, or jumps out at NUL.
func (c *strCopy) byte() {
	o := memOpd(c.src.indexed(c.i))
	o.fix = c.unreadable
	c.rmo(iMOVZB, 4, c.w, o)
	c.mr(iTEST, 4, rmReg(c.w), c.w)
	c.a.jcc(ccE, c.end)
	c.mr(iMOV, 1, rmMem(c.dst.indexed(c.i)), c.w)
	c.mi(iADD, 4, rmReg(c.i), 1)
}

// wide copies characters of n bytes. One that cannot be read whole ends the string.
func (c *strCopy) wide(n uint8) {
	loop := c.a.newLabel()
	c.a.bind(loop)
	c.mi(iCMP, 4, rmReg(c.i), c.max)
	c.a.jcc(ccAE, c.truncated)
	o := memOpd(c.src.indexed(c.i))
	o.fix = c.unreadable
	c.extend(c.w, n, false, o)
	c.mr(iTEST, 4, rmReg(c.w), c.w)
	c.a.jcc(ccE, c.end)
	c.mr(iMOV, n, rmMem(c.dst.indexed(c.i)), c.w)
	c.mi(iADD, 4, rmReg(c.i), int64(n))
	c.a.jmp(loop)
}

// head copies up to the first word border.
func (c *strCopy) head() {
	loop, aligned := c.a.newLabel(), c.a.newLabel()
	c.a.bind(loop)
	c.lea(8, c.t, c.src.indexed(c.i))
	c.mi(iTEST, 1, rmReg(c.t), 7)
	c.a.jcc(ccE, aligned)
	c.mi(iCMP, 4, rmReg(c.i), c.max)
	c.a.jcc(ccAE, c.truncated)
	c.byte()
	c.a.jmp(loop)
	c.a.bind(aligned)
}

// words copies aligned words up to the one with the NUL, then the bytes that
// are left of the slot.
func (c *strCopy) words() {
	loop, bytes := c.a.newLabel(), c.a.newLabel()
	if c.max >= 8 {
		found := c.a.newLabel()
		ones, highs, v := c.constReg(-0x0101010101010101), c.constReg(-0x7f7f7f7f7f7f7f80), c.scratch()
		c.a.bind(loop)
		c.lea(8, c.t, at(c.i, 8))
		c.mi(iCMP, 4, rmReg(c.t), c.max)
		c.a.jcc(ccA, bytes)
		o := memOpd(c.src.indexed(c.i))
		o.fix = c.unreadable
		c.rmo(iMOV, 8, c.w, o)
		// The lowest high bit of (w - 0x01..) & ^w & 0x80.. is that of the first zero byte.
		c.rmo(iMOV, 8, v, regOpd(c.w))
		c.m(iNOT, 8, regOpd(v))
		c.rmo(iAND, 8, v, regOpd(highs))
		c.lea(8, c.t, atIdx(c.w, ones, 1, 0))
		c.rmo(iAND, 8, v, regOpd(c.t))
		c.a.jcc(ccNE, found)
		c.mr(iMOV, 8, rmMem(c.dst.indexed(c.i)), c.w)
		c.mi(iADD, 4, rmReg(c.i), 8)
		c.a.jmp(loop)
		c.later(func() { c.last(v, found) })
	}
	c.a.bind(bytes)
	c.mi(iCMP, 4, rmReg(c.i), c.max)
	c.a.jcc(ccAE, c.truncated)
	c.byte()
	c.a.jmp(bytes)
}

// last stores the bytes of w before its NUL, which v marks, and zeros after them.
func (c *strCopy) last(v Reg, found label) {
	c.a.bind(found)
	c.lea(8, c.t, at(v, -1))
	c.m(iNOT, 8, regOpd(v))
	c.rmo(iAND, 8, c.t, regOpd(v)) // ones below the mark
	c.rmo(iAND, 8, c.w, regOpd(c.t))
	c.mr(iMOV, 8, rmMem(c.dst.indexed(c.i)), c.w)
	c.m(iNOT, 8, regOpd(c.t))
	c.rmo(iBSF, 8, c.t, regOpd(c.t))
	c.mi(iSHR, 4, rmReg(c.t), 3)
	c.rmo(iADD, 4, c.i, regOpd(c.t))
	c.a.jmp(c.end)
}
