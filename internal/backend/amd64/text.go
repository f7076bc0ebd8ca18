package amd64

import (
	"fmt"
	"strings"
)

func regText(r Reg, w uint8) string { return "%" + r.Name(int(w)) }
func xmmText(r Reg) string          { return fmt.Sprintf("%%xmm%d", r) }

// writer formats instructions as AT&T text, as objdump does.
type writer struct {
	a *asm
	l *linked
	// next is the address after the instruction.
	next uint64
	// target is what a rip-relative operand of the last instruction points to, or 0.
	target uint64
}

func (w *writer) mem(m mem) string {
	var b strings.Builder
	switch m.seg {
	case 0x64:
		b.WriteString("%fs:")
	case 0x65:
		b.WriteString("%gs:")
	}
	if m.rip {
		target := m.target
		if m.lab != noLabel {
			target = w.a.base + uint64(w.l.off(w.a.labels[m.lab])) + uint64(int64(m.disp))
		}
		w.target = target
		return hexText(int64(int32(target-w.next))) + "(%rip)"
	}
	if m.base == NoReg && m.index == NoReg {
		fmt.Fprintf(&b, "%#x", uint64(int64(m.disp)))
		return b.String()
	}
	// Without a base, and with base rbp or r13, there always is a displacement.
	if m.disp != 0 || m.base == NoReg || m.base&7 == RBP {
		b.WriteString(hexText(int64(m.disp)))
	}
	b.WriteByte('(')
	if m.base != NoReg {
		b.WriteString(regText(m.base, 8))
	}
	if m.index != NoReg {
		fmt.Fprintf(&b, ",%s,%d", regText(m.index, 8), max(m.scale, 1))
	}
	b.WriteByte(')')
	return b.String()
}

func hexText(v int64) string {
	if v < 0 {
		return fmt.Sprintf("-%#x", -v)
	}
	return fmt.Sprintf("%#x", v)
}

func (w *writer) rm(o rmOp, width uint8, xmm bool) string {
	switch {
	case o.isMem:
		return w.mem(o.m)
	case xmm:
		return xmmText(o.r)
	}
	return regText(o.r, width)
}

// suffix is the width letter if no register operand determines the width.
func suffix(width uint8) string {
	return map[uint8]string{1: "b", 2: "w", 4: "l", 8: "q"}[width]
}

// width of a register in the rm field.
func rmWidth(i *insn) uint8 {
	switch i.op {
	case iMOVZB, iMOVSB, iSET:
		return 1
	case iMOVZW, iMOVSW:
		return 2
	case iMOVSL, iLSL:
		return 4
	case iRDPID:
		return 8
	}
	return i.w
}

func (w *writer) insn(i *insn) string {
	rw := &insns[i.op]
	name, xr, xm := rw.name, rw.flags&fXReg != 0, rw.flags&fXRM != 0
	if i.op == iMOVQ {
		name += map[uint8]string{4: "d", 8: "q"}[i.w]
	}
	reg := func() string {
		if xr {
			return xmmText(i.reg)
		}
		return regText(i.reg, i.w)
	}
	imm := func() string { return "$" + immText(i.imm, i.w) }
	mi := func(n string) string {
		if i.rm.isMem || rw.flags&fSuffix != 0 {
			return n + suffix(i.w)
		}
		return n
	}
	switch i.kind {
	case kRM:
		return w.loadText(i, name, reg())
	case kMR:
		return name + " " + reg() + "," + w.rm(i.rm, i.w, xm)
	case kMI:
		return mi(name) + " " + imm() + "," + w.rm(i.rm, i.w, xm)
	case kRMI:
		return name + " " + imm() + "," + w.rm(i.rm, i.w, false) + "," + reg()
	case kRegImm:
		return name + " $" + fmt.Sprintf("%#x", uint64(i.imm)) + "," + reg()
	case kVEX:
		return fmt.Sprintf("%s $%#x,%%ymm%d,%s", name, i.imm, i.reg, w.mem(i.rm.m))
	case kM:
		return w.oneText(i, name, mi)
	}
	return name
}

func (w *writer) loadText(i *insn, name, reg string) string {
	rw := &insns[i.op]
	switch i.op {
	case iMOVZB, iMOVZW, iMOVSB, iMOVSW, iMOVSL:
		name += suffix(i.w)
	case iCMOV:
		name += ccNames[i.cc]
	case iCVTSI2SD, iCVTSI2SS:
		if i.rm.isMem {
			name += suffix(i.w)
		}
	}
	return name + " " + w.rm(i.rm, rmWidth(i), rw.flags&fXRM != 0) + "," + reg
}

func (w *writer) oneText(i *insn, name string, mi func(string) string) string {
	switch i.op {
	case iSET:
		return name + ccNames[i.cc] + " " + w.rm(i.rm, 1, false)
	case iSHLCL, iSHRCL, iSARCL:
		return mi(name) + " %cl," + w.rm(i.rm, i.w, false)
	case iMOVES, iMOVDS, iMOVFS, iMOVGS:
		return name + w.rm(i.rm, 4, false)
	case iSTMXCSR, iLDMXCSR, iFXSAVE, iPUSHM, iPOPM, iPREFETCHW, iPREFETCHT0:
		return name + " " + w.rm(i.rm, 8, false)
	}
	return mi(name) + " " + w.rm(i.rm, rmWidth(i), false)
}

func immText(v int64, w uint8) string {
	if w < 8 {
		v &= widthMask(w)
	}
	return fmt.Sprintf("%#x", uint64(v))
}
