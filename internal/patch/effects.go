package patch

// effects fills in the register and flag sets of the instruction.
func (d *decoder) effects(f *form) {
	in := &d.in
	in.Mem = in.Mem || f.mem
	if f.unknown || d.unseen(f) {
		in.Unknown = f.unknown
		in.Reads, in.Writes, in.FlagsRead, in.FlagsWritten = AllGPR, 0, true, false
		in.Mem = in.Mem || f.unknown
		return
	}
	in.Reads |= f.reads
	in.Writes |= f.writes
	for _, o := range f.ops {
		d.operand(o)
	}
	if f.rep && d.pfx.rep != 0 {
		in.Reads |= RCX
		in.Writes |= RCX
	}
	switch f.flags {
	case flagsRead:
		in.FlagsRead = true
	case flagsWrite:
		in.FlagsWritten = true
	case flagsReadOver:
		in.FlagsRead, in.FlagsWritten = true, true
	case flagsShiftImm:
		in.FlagsWritten = d.shiftWrites(f)
	}
	d.special()
}

// unseen reports whether the instruction hands control to code that is not
// in view, which may use any register.
func (d *decoder) unseen(f *form) bool {
	switch f.class {
	case Call, CallInd, JmpInd, Ret, Syscall, Int3, Trap, XBegin, Far:
		return true
	}
	return false
}

// operand adds the registers of one operand.
func (d *decoder) operand(o operand) {
	var reg int
	switch o.kind {
	case 'E':
		if d.rm < 0 {
			return
		}
		reg = d.rm
	case 'G':
		reg = int(d.modrm>>3&7 | d.pfx.r)
	case 'B':
		reg = int(d.pfx.vvvv)
	case 'Z':
		reg = int(d.in.opcode&7 | d.pfx.b)
	case 'A':
		reg = 0
	case 'D':
		reg = 2
	case 'L':
		d.in.Mem = false
		return
	default:
		return
	}
	width := d.width(o.size)
	if width == 1 && !d.pfx.rex && o.kind != 'A' && reg >= 4 {
		reg -= 4 // ah ch dh bh
	}
	bit := RegSet(1) << reg
	if o.acc&accRead != 0 || width < 4 {
		d.in.Reads |= bit
	}
	if o.acc&accWrite != 0 {
		d.in.Writes |= bit
	}
}

// width is the size in bytes of an operand of a size letter.
func (d *decoder) width(size byte) int {
	switch size {
	case 'b':
		return 1
	case 'w':
		return 2
	case 'd':
		return 4
	case 'q':
		return 8
	case 'y':
		if d.pfx.w {
			return 8
		}
		return 4
	case 's':
		if d.pfx.opsize && !d.pfx.w {
			return 2
		}
		return 8
	}
	switch {
	case d.pfx.w:
		return 8
	case d.pfx.opsize:
		return 2
	}
	return 4
}

// shiftWrites reports whether a shift by an immediate (or by one) overwrites
// the flags: a rotate writes CF and OF only, a count of zero nothing, and a count
// beyond the width of 8 or 16 bits leaves CF open.
func (d *decoder) shiftWrites(f *form) bool {
	if d.modrm>>3&7 < 4 {
		return false
	}
	count, limit := byte(1), byte(32)
	if len(f.ops) > 1 {
		count = d.code[d.pos-1]
	}
	switch w := d.width(f.ops[0].size); {
	case w == 8:
		limit = 64
		count &= 63
	case w < 4:
		limit = byte(8 * w)
		count &= 31
	default:
		count &= 31
	}
	return count != 0 && count < limit
}

// special corrects what the tables cannot say.
func (d *decoder) special() {
	in := &d.in
	if in.space != spaceOne {
		return
	}
	switch {
	case in.opcode == 0x90 && d.pfx.b == 0: // nop, pause
		in.Reads, in.Writes = 0, 0
		if d.pfx.rep == 0 {
			in.Class = Nop
		}
	case d.zeroIdiom():
		in.Reads &^= 1 << d.rm
	}
}

// zeroIdiom: xor or sub of a register with itself gives zero whatever was there.
func (d *decoder) zeroIdiom() bool {
	switch d.in.opcode {
	case 0x29, 0x2b, 0x31, 0x33:
		return d.rm >= 0 && d.rm == int(d.modrm>>3&7|d.pfx.r) && d.width('v') >= 4
	}
	return false
}
