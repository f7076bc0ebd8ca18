package patch

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Limits of reading a jump table whose length is not known: a table ends after
// so many entries in a row that lead out of the function. Reading too far finds
// targets that do not exist, which is harmless.
const (
	maxEntries   = 1 << 16 // of one table
	maxTables    = 1 << 18 // entries of all tables of a function
	maxOutside   = 64
	maxZeros     = 4096 // empty slots of a table of label addresses
	lookBack     = 24   // instructions between the load from a table and the jump
	pageSize     = 4096
	plausibleRun = 8 // a table has an entry into the function among its first
)

// indirect looks at every indirect jump of the parts. It adds the targets of the
// jump tables it recognises and sets wild for any jump that it does not.
//
// Recognised are (AT&T syntax, any registers):
//
//	jmp *T(,i,8)              mov T(,i,8),r; jmp *r         absolute tables
//	lea T(%rip),b; jmp *(b,i,8)                             (Go)
//	lea T(%rip),b; movslq (b,i,4),r; add b,r; jmp *r        position independent
//	jmp *P(%rip)                                            tail call through the GOT
//
// A recognised jump must be reached only through the instructions that show
// what it is. That is checked against direct branches while looking, and against the
// tables' own targets at the end.
func (c *Code) indirect(a *analysis, parts [][]Inst) {
	var all []uint64
	for _, insts := range parts {
		for i := range insts {
			if insts[i].Class != JmpInd {
				continue
			}
			found, ok := c.tablesOf(a, parts, insts, i)
			if ok && insts[i].RIPOff == 0 {
				a.switches = append(a.switches, insts[i].Addr)
			}
			if !ok && a.wild == "" {
				a.wild = fmt.Sprintf("the indirect jump at %#x is not a jump table that is understood", insts[i].Addr)
			}
			all = append(all, found...)
		}
	}
	a.tables = all
	a.targets = append(a.targets, all...)
	slices.Sort(a.targets)
	a.targets = slices.Compact(a.targets)
	for _, d := range a.dispatches {
		if t, arrives := a.targetIn(d.Lo, d.Hi); arrives && a.wild == "" {
			a.wild = fmt.Sprintf("a jump table leads to %#x, into the code of another", t)
		}
	}
}

// tablesOf returns the targets of the indirect jump insts[i].
func (c *Code) tablesOf(a *analysis, parts [][]Inst, insts []Inst, i int) ([]uint64, bool) {
	if c.ReadMem == nil {
		return nil, false
	}
	in := &insts[i]
	if in.RIPOff != 0 {
		return c.pointer(in.RIPTarget)
	}
	m := in.memory()
	if m.isMem {
		return c.wideTable(a, insts, i, i, m)
	}
	def := c.lastWrite(a, insts, i, 1<<m.reg)
	if def < 0 {
		return nil, false
	}
	switch d := &insts[def]; {
	case d.space == spaceOne && d.opcode == 0x8b && d.pfx.w:
		if dm := d.memory(); dm.isMem {
			return c.wideTable(a, insts, def, i, dm)
		}
	case d.space == spaceOne && (d.opcode == 0x01 || d.opcode == 0x03) && d.pfx.w && !d.memory().isMem:
		if from := c.signedLoad(a, insts, def, d.Reads); from >= 0 {
			a.dispatch(insts, from, i)
			return c.narrowTables(a, parts)
		}
	}
	return nil, false
}

// lastWrite finds, in the straight line of code before insts[i], the last
// instruction that writes one of regs. It gives up (-1) where control may arrive
// from elsewhere.
func (c *Code) lastWrite(a *analysis, insts []Inst, i int, regs RegSet) int {
	for j := i - 1; j >= 0 && j >= i-lookBack; j-- {
		if _, isTarget := slices.BinarySearch(a.targets, insts[j+1].Addr); isTarget {
			return -1
		}
		if insts[j].Class.Ends() || insts[j].Unknown || insts[j].Class == Call || insts[j].Class == CallInd {
			return -1
		}
		if insts[j].Writes&regs != 0 {
			return j
		}
	}
	return -1
}

// dispatch notes that control must not arrive between two instructions.
func (a *analysis) dispatch(insts []Inst, from, jmp int) {
	a.dispatches = append(a.dispatches, Range{insts[from].Addr, insts[jmp].Addr + 1})
}

// signedLoad finds where one of regs gets, before insts[i], a 32-bit table entry
// with its sign. -1: nowhere.
func (c *Code) signedLoad(a *analysis, insts []Inst, i int, regs RegSet) int {
	for j := i; ; {
		if j = c.lastWrite(a, insts, j, regs); j < 0 {
			return -1
		}
		d := &insts[j]
		if d.space == spaceOne && d.pfx.w && (d.opcode == 0x63 && d.Mem || d.opcode == 0x98) {
			return j
		}
		if d.space != spaceOne || d.opcode != 0x8d && d.opcode != 0x8b && d.opcode != 0x89 {
			return -1
		}
	}
}

// wideTable reads the 8-byte table of the memory operand m of insts[at].
func (c *Code) wideTable(a *analysis, insts []Inst, at, jmp int, m memOperand) ([]uint64, bool) {
	if m.scale != 8 || m.index < 0 || insts[at].pfx.addrsize || insts[at].pfx.seg != 0 && insts[at].pfx.seg != 0x3e {
		return nil, false
	}
	base := uint64(int64(m.disp))
	if m.base >= 0 {
		def := c.lastWrite(a, insts, at, 1<<m.base)
		if def < 0 || insts[def].opcode != 0x8d || insts[def].space != spaceOne || insts[def].RIPOff == 0 {
			return nil, false
		}
		base += insts[def].RIPTarget
		at = def
	}
	a.dispatch(insts, at, jmp)
	found := c.readTable(a, base, 8)
	return found, len(found) > 0
}

// narrowTables reads every table of 4-byte offsets whose address the function
// computes: the address may have been computed far away or kept on the stack.
func (c *Code) narrowTables(a *analysis, parts [][]Inst) ([]uint64, bool) {
	if a.narrowRead {
		return nil, a.narrow
	}
	var found []uint64
	for _, insts := range parts {
		for i := range insts {
			if in := &insts[i]; in.RIPOff != 0 && in.space == spaceOne && in.opcode == 0x8d {
				found = append(found, c.readTable(a, in.RIPTarget, 4)...)
			}
		}
	}
	a.narrowRead, a.narrow = true, len(found) > 0
	return found, a.narrow
}

// pointer handles a jump through a fixed pointer. A pointer out of the function
// is a tail call; label addresses that the function computes are targets already.
func (c *Code) pointer(addr uint64) ([]uint64, bool) {
	b, err := c.ReadMem(addr, 8)
	if err != nil || len(b) < 8 {
		return nil, false
	}
	return c.inside([]uint64{binary.LittleEndian.Uint64(b)}), true
}

// readTable reads entries until the table has clearly ended. Entries of 4 bytes
// are relative to the table.
func (c *Code) readTable(a *analysis, table uint64, size int) []uint64 {
	var found []uint64
	outside, zeros := 0, 0
	r := entryReader{c: c, addr: table, size: size}
	for n := 0; n < maxEntries && outside < maxOutside && zeros < maxZeros; n++ {
		v, ok := r.next()
		if !ok {
			break
		}
		if a.entries++; a.entries > maxTables {
			a.wild = "its jump tables do not end"
			break
		}
		if size == 4 {
			v = table + uint64(int64(int32(v)))
		}
		if own := v >= c.Lo && v < c.Hi; own && a.broken == "" && a.at(c, v) == nil {
			break // no compiler's table leads inside an instruction: this is other data
		}
		switch {
		case size == 8 && v == 0:
			zeros++
		case c.ours(v):
			found = append(found, c.inside([]uint64{v})...)
			outside, zeros = 0, 0
			if len(found) == 0 {
				found = make([]uint64, 0, 8)
			}
		default:
			outside++
		}
		if size == 4 && n >= plausibleRun && found == nil {
			return nil
		}
	}
	return found
}

// ours reports whether an address lies in one of the function's parts, the
// address just behind it included: compilers send impossible cases there.
func (c *Code) ours(v uint64) bool {
	if v >= c.Lo && v <= c.Hi {
		return true
	}
	for _, r := range c.Extra {
		if v >= r.Addr && v <= r.end() {
			return true
		}
	}
	return false
}

// entryReader reads table entries page by page.
type entryReader struct {
	c    *Code
	addr uint64
	size int
	buf  []byte
}

func (r *entryReader) next() (uint64, bool) {
	for len(r.buf) < r.size {
		at := r.addr + uint64(len(r.buf))
		b, err := r.c.ReadMem(at, int(pageSize-at%pageSize))
		if err != nil || len(b) == 0 {
			// The end of a section or mapping: the last entries one by one.
			if b, err = r.c.ReadMem(at, r.size-len(r.buf)); err != nil || len(b) == 0 {
				return 0, false
			}
		}
		r.buf = append(r.buf[:len(r.buf):len(r.buf)], b...)
	}
	var v uint64
	if r.size == 8 {
		v = binary.LittleEndian.Uint64(r.buf)
	} else {
		v = uint64(binary.LittleEndian.Uint32(r.buf))
	}
	r.buf = r.buf[r.size:]
	r.addr += uint64(r.size)
	return v, true
}

// memOperand is the operand of ModRM.rm: a register, or base + index*scale + disp.
type memOperand struct {
	isMem       bool
	reg         int
	base, index int // -1: none
	scale       int
	disp        int32
}

// memory decodes the operand of ModRM.rm of an instruction with ModRM that is
// not rip-relative.
func (in *Inst) memory() memOperand {
	p := int(in.modOff)
	mod, rm := in.b[p]>>6, in.b[p]&7
	if mod == 3 {
		return memOperand{reg: int(rm | in.pfx.b)}
	}
	m := memOperand{isMem: true, base: int(rm | in.pfx.b), index: -1, scale: 1}
	p++
	size := [3]int{0, 1, 4}[mod]
	if rm == 4 {
		sib := in.b[p]
		p++
		m.base = int(sib&7 | in.pfx.b)
		m.scale = 1 << (sib >> 6)
		if x := sib>>3&7 | in.pfx.x; x != 4 {
			m.index = int(x)
		}
		if sib&7 == 5 && mod == 0 {
			m.base, size = -1, 4
		}
	}
	switch size {
	case 1:
		m.disp = int32(int8(in.b[p]))
	case 4:
		m.disp = int32(binary.LittleEndian.Uint32(in.b[p:]))
	}
	return m
}
