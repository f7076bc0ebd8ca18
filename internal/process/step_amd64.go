package process

import (
	"encoding/binary"
)

// classify decodes prefixes and opcode (Intel SDM vol. 2, ch. 2).
func classify(b []byte) insn {
	rep := false
	for i, c := range b {
		switch c {
		case 0xf2, 0xf3:
			rep = true
			continue
		case 0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65:
			continue
		}
		if c&0xf0 == 0x40 { // REX
			continue
		}
		switch {
		case c == 0x9c:
			return insn{kind: insnPushf}
		case c == 0x9d || c == 0xcf:
			return insn{kind: insnPopf}
		case c == 0x0f && i+1 < len(b) && (b[i+1] == 0x05 || b[i+1] == 0x34),
			c == 0xcd && i+1 < len(b) && b[i+1] == 0x80:
			return insn{kind: insnCall}
		case rep && (c >= 0xa4 && c <= 0xa7 || c >= 0xaa && c <= 0xaf || c >= 0x6c && c <= 0x6f):
			return insn{insnRep, i + 1}
		}
		return insn{}
	}
	return insn{}
}

// fixStep takes our trap flag out of where an instruction has copied the flags to.
//
// Before popf the kernel forgets that the flag is ours (enable_single_step), and at
// the next single step it would take it for the program's: it stays for ever. It
// clears the state in between when the thread is resumed without a step.
func (p *Process) fixStep(t *task, kind insnKind) {
	if kind == insnOther || kind == insnRep {
		return
	}
	var regs Regs
	if getRegs(t.tid, &regs) != nil || regs.Eflags&trapFlag != 0 {
		return // dying, or it is the program's own
	}
	switch kind {
	case insnCall:
		fixR11(t.tid, &regs)
		return
	case insnPopf:
		if d := &t.dbg; d.alone == nil { // signals that come now wait
			d.alone = &alone{}
			defer func() { d.alone = nil }()
		}
		_ = p.settle(t) // an error: it is dying
		return
	}
	var b [2]byte
	if p.space.read(regs.SP(), b[:]) != nil {
		return
	}
	f := binary.LittleEndian.Uint16(b[:])
	binary.LittleEndian.PutUint16(b[:], f&^trapFlag)
	_ = p.space.write(regs.SP(), b[:]) // an error: it is dying
}

// fixR11 clears it in r11, where syscall puts the flags.
func fixR11(tid int, regs *Regs) {
	if regs.R11&trapFlag != 0 && regs.R11 == regs.Eflags|trapFlag {
		regs.R11 &^= trapFlag
		_ = setRegs(tid, regs) // ESRCH: dying
	}
}

// doPopf executes the popf behind a hit program, which gives back what its pushf stored.
// ok is false for one that the program may have its own reasons for.
func (p *Process) doPopf(t *task, regs *Regs) (ok bool) {
	var code [1]byte
	var word [8]byte
	if p.space.read(regs.PC(), code[:]) != nil || code[0] != 0x9d || p.space.read(regs.SP(), word[:]) != nil {
		return false
	}
	flags := binary.LittleEndian.Uint64(word[:])
	if (flags^regs.Eflags)&^(statusFlags|directionFlag) != 0 {
		return false
	}
	next := *regs
	next.Eflags, next.Rsp, next.Rip = flags, regs.Rsp+8, regs.Rip+1
	return setRegs(t.tid, &next) == nil
}
