package patch

import (
	"encoding/binary"
	"math"
)

// prefixes are the legacy prefixes of an instruction and its REX or VEX fields.
type prefixes struct {
	opsize, addrsize, lock bool
	rep                    byte // 0xf2, 0xf3 or 0
	seg                    byte
	rex                    bool // a REX prefix is there
	w                      bool
	r, x, b                byte // register extensions: 0 or 8
	vex, evex              bool
	r2                     bool // EVEX.R': ModRM.reg is 16-31
	vvvv                   byte
}

// decoder is the state of one Decode.
type decoder struct {
	code  []byte
	pos   int
	pp    uint8 // one of ppNone...
	modrm byte
	rm    int // register of ModRM.rm, -1 when memory or no ModRM
	pfx   prefixes
	in    Inst
}

// Decode decodes the first instruction of code, which is at addr. It does not read the bytes after it. The
// error is a *DecodeError: the bytes are not an instruction, processors disagree on it, or it is not in the
// tables.
func Decode(code []byte, addr uint64) (Inst, error) {
	d := decoder{code: code, rm: -1}
	d.in.Addr = addr
	why := d.decode()
	if why != "" {
		n := min(len(code), maxLen)
		return Inst{}, &DecodeError{Addr: addr, Bytes: append([]byte(nil), code[:n]...), Why: why}
	}
	return d.in, nil
}

const whyTruncated = "the code ends inside it"

func (d *decoder) decode() string {
	if why := d.readPrefixes(); why != "" {
		return why
	}
	space, why := d.readOpcode()
	if why != "" {
		return why
	}
	f, why := d.match(space)
	if why != "" {
		return why
	}
	if f.modrm {
		if why := d.readModRM(f); why != "" {
			return why
		}
	}
	if why := d.readImmediates(f); why != "" {
		return why
	}
	if d.pos > maxLen {
		return "longer than 15 bytes"
	}
	d.in.Len = d.pos
	d.in.pfx = d.pfx
	copy(d.in.b[:], d.code[:d.pos])
	if why := d.checkPrefixes(f); why != "" {
		return why
	}
	d.finish(f)
	return ""
}

// next reads a byte.
func (d *decoder) next() (byte, bool) {
	if d.pos >= len(d.code) {
		return 0, false
	}
	c := d.code[d.pos]
	d.pos++
	return c, true
}

// readPrefixes reads legacy prefixes and a REX prefix.
func (d *decoder) readPrefixes() string {
	p := &d.pfx
	for ; d.pos < len(d.code) && d.pos < maxLen; d.pos++ {
		c := d.code[d.pos]
		switch {
		case p.rex && (isLegacyPrefix(c) || c&0xf0 == 0x40):
			return "a REX prefix that is not the last prefix"
		case c&0xf0 == 0x40:
			p.rex, p.w = true, c&8 != 0
			p.r, p.x, p.b = c&4<<1, c&2<<2, c&1<<3
		case c == 0x66:
			p.opsize = true
		case c == 0x67:
			p.addrsize = true
		case c == 0xf0:
			p.lock = true
		case c == 0xf2 || c == 0xf3:
			if p.rep != 0 && p.rep != c {
				return "both repeat prefixes"
			}
			p.rep = c
		case isLegacyPrefix(c):
			p.seg = c
		default:
			return ""
		}
	}
	if d.pos < len(d.code) {
		return "longer than 15 bytes"
	}
	return whyTruncated
}

func isLegacyPrefix(c byte) bool {
	switch c {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	}
	return false
}

// readOpcode reads escapes and VEX-like prefixes up to the opcode byte.
func (d *decoder) readOpcode() (opSpace, string) {
	c, _ := d.next()
	space := spaceOne
	switch {
	case c == 0xc4 || c == 0xc5 || c == 0x62 || c == 0x8f && d.pos < len(d.code) && d.code[d.pos]&0x1f >= 8:
		return d.readVex(c)
	case c == 0x0f:
		space = space0F
		var ok bool
		if c, ok = d.next(); !ok {
			return 0, whyTruncated
		}
		switch c {
		case 0x0f:
			return d.threeDNow()
		case 0x38, 0x3a:
			space = space0F38
			if c == 0x3a {
				space = space0F3A
			}
			if c, ok = d.next(); !ok {
				return 0, whyTruncated
			}
		}
	}
	switch {
	case d.pfx.rep == 0xf3:
		d.pp = ppF3
	case d.pfx.rep == 0xf2:
		d.pp = ppF2
	case d.pfx.opsize:
		d.pp = pp66
	default:
		d.pp = ppNone
	}
	d.in.space, d.in.opcode, d.in.opOff = space, c, uint8(d.pos-1)
	return space, ""
}

// threeDNow leaves the position at ModRM; the real opcode is the byte after the
// operand.
func (d *decoder) threeDNow() (opSpace, string) {
	d.in.space, d.in.opcode, d.in.opOff = space3DNow, 0x0f, uint8(d.pos-1)
	return space3DNow, ""
}

// form3DNow is the only form of AMD's 3DNow instructions: mmx registers, a memory operand, and an opcode
// instead of an immediate.
var form3DNow = form{modrm: true, ops: []operand{{kind: 'W', acc: accRead}, {kind: 'I', size: 'b', acc: accRead}}}

var suffixes3DNow = map[byte]bool{
	0x0c: true, 0x0d: true, 0x1c: true, 0x1d: true, 0x8a: true, 0x8e: true, 0x90: true, 0x94: true,
	0x96: true, 0x97: true, 0x9a: true, 0x9e: true, 0xa0: true, 0xa4: true, 0xa6: true, 0xa7: true,
	0xaa: true, 0xae: true, 0xb0: true, 0xb4: true, 0xb6: true, 0xb7: true, 0xbb: true, 0xbf: true,
}

// match finds the line of the table that the opcode, prefixes and ModRM mean.
func (d *decoder) match(s opSpace) (*form, string) {
	var modrm byte
	have := d.pos < len(d.code)
	if have {
		modrm = d.code[d.pos]
	}
	if s == space3DNow {
		if !have {
			return nil, whyTruncated
		}
		d.modrm = modrm
		return &form3DNow, ""
	}
	forms := table()[s][d.in.opcode]
	for i := range forms {
		f := &forms[i]
		if f.modrm && !have {
			return nil, whyTruncated
		}
		if f.matches(d.pp, modrm) {
			d.modrm = modrm
			return f, ""
		}
	}
	return nil, "unknown opcode"
}

// readModRM reads ModRM, SIB and displacement.
func (d *decoder) readModRM(f *form) string {
	d.in.modOff = uint8(d.pos)
	d.pos++
	mod, rm := d.modrm>>6, d.modrm&7
	d.rm = -1
	if mod == 3 {
		d.rm = int(rm | d.pfx.b)
		return ""
	}
	d.in.Mem = true
	size := [3]int{0, 1, 4}[mod]
	switch {
	case rm == 4:
		sib, ok := d.next()
		if !ok {
			return whyTruncated
		}
		if sib&7 == 5 && mod == 0 {
			size = 4
		} else {
			d.in.Reads |= 1 << (sib&7 | d.pfx.b)
		}
		if index := sib>>3&7 | d.pfx.x; index != 4 && !f.vsib() {
			d.in.Reads |= 1 << index
		}
	case f.vsib():
		return "a gather without an index"
	case rm == 5 && mod == 0:
		size = 4
		d.in.RIPOff = d.pos
		d.in.addr32 = d.pfx.addrsize
	default:
		d.in.Reads |= 1 << (rm | d.pfx.b)
	}
	d.pos += size
	if d.pos > len(d.code) {
		return whyTruncated
	}
	return ""
}

func (f *form) vsib() bool {
	for i := range f.ops {
		if f.ops[i].kind == 'Y' {
			return true
		}
	}
	return false
}

// readImmediates reads immediates, absolute addresses and branch displacements.
func (d *decoder) readImmediates(f *form) string {
	for _, o := range f.ops {
		n := 0
		switch o.kind {
		case 'I', 'J':
			n = d.immSize(o.size)
		case 'O':
			n = 8
			if d.pfx.addrsize {
				n = 4
			}
			d.in.Mem = true
		default:
			continue
		}
		if d.pos+n > len(d.code) {
			return whyTruncated
		}
		d.pos += n
	}
	if d.in.space == space3DNow && !suffixes3DNow[d.code[d.pos-1]] {
		return "unknown opcode"
	}
	return ""
}

func (d *decoder) immSize(size byte) int {
	switch size {
	case 'b':
		return 1
	case 'w':
		return 2
	case 'd':
		return 4
	case 'v':
		if d.pfx.w {
			return 8
		}
	}
	if d.pfx.opsize && !d.pfx.w {
		return 2
	}
	return 4
}

// checkPrefixes refuses combinations that fault or that processors disagree on.
func (d *decoder) checkPrefixes(f *form) string {
	p := &d.pfx
	switch f.class {
	case Jmp, Jcc, Loop, Call, JmpInd, CallInd, Ret, XBegin:
		// Intel ignores 0x66 here, AMD truncates rip to 16 bits.
		if p.opsize && !p.w {
			return "a 16-bit branch"
		}
	}
	if p.lock && (len(f.ops) == 0 || !f.lockable() || d.rm >= 0) {
		return "a lock prefix that is not allowed"
	}
	if p.evex {
		for _, o := range f.ops {
			if o.kind == 'G' && p.r2 || o.kind == 'E' && d.rm >= 0 && p.x != 0 {
				return "an EVEX register number above 15 for a general register"
			}
		}
	}
	return ""
}

// lockable: the first operand is read and written in memory (cmpxchg8b has its
// line of implicit registers).
func (f *form) lockable() bool {
	o := f.ops[0]
	return o.kind == 'E' && o.acc == accRead|accWrite || f.writes == RAX|RDX && o.kind == 'W'
}

// finish works out target, rip-relative operand and effects.
func (d *decoder) finish(f *form) {
	in := &d.in
	in.Class = f.class
	if in.RIPOff != 0 {
		in.RIPTarget = in.Next() + uint64(int64(int32(binary.LittleEndian.Uint32(d.code[in.RIPOff:]))))
	}
	switch f.class {
	case Jmp, Jcc, Loop, Call, XBegin:
		in.Target = in.Next() + uint64(d.displacement(f))
		if in.addr32 {
			in.Target &= math.MaxUint32
		}
	}
	d.effects(f)
}

// displacement is the relative branch displacement at the end of the instruction.
func (d *decoder) displacement(f *form) int64 {
	if f.ops[0].size == 'b' {
		return int64(int8(d.code[d.pos-1]))
	}
	return int64(int32(binary.LittleEndian.Uint32(d.code[d.pos-4:])))
}
