package dwarf

import (
	"bytes"
	"sort"

	"github.com/jalon-trace/jalon/internal/arch/arm64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
)

// prologues finds the first address after the prologue of a function.
type prologues struct{ *info }

// GDB 13's rules for the end of a function's prologue. Places named by function or line
// use them, so that both tools stop at the same addresses.

// locationsValid reports whether GDB trusts variable locations from the first
// instruction on and skips no prologue: GCC with location lists in the unit.
func (u *unit) locationsValid() bool {
	return u.whole().head().gcc >= 5 && u.functions().hasLists
}

// funcStart is the place for a breakpoint on the function that starts at addr.
func (pr *prologues) funcStart(addr uint64) line.Place {
	addr = pr.behindGoCheck(addr) // where DWARF has no end of the prologue
	s := pr.lineAt(addr)
	if s.File != nil && (pr.unitFor(addr).locationsValid() || s.File.IsAssembler()) {
		s.PC = addr
		return s
	}
	if s.PC < addr {
		s = line.Place{PC: addr}
	}
	return pr.skipPrologue(s)
}

// skipPrologue moves s after the prologue of its function unless it is already there.
func (pr *prologues) skipPrologue(s line.Place) line.Place {
	u, f := pr.unitFor(s.PC), (*fn)(nil)
	if u != nil {
		f = u.functions().at(s.PC)
	}
	var start uint64
	if f != nil {
		start = f.entry()
	} else {
		sym, _, ok := pr.symbolAt(s.PC)
		if !ok {
			return s
		}
		start = sym.Value
	}
	force := f == nil || !u.locationsValid()
	pc, body := pr.prologueEnd(start, f)
	if !force && !body.marked {
		pc, body.Place = start, pr.lineAt(start)
		if body.File == nil {
			pc = pr.firstLinePC(start, f)
			body.Place = pr.lineAt(pc)
		}
	}
	if s.PC >= pc {
		return s
	}
	body.Place.PC = pc
	return body.Place
}

type prologueLine struct {
	line.Place
	marked bool // the compiler marked the end of the prologue itself
}

// prologueEnd is the first address of the body and its line.
func (pr *prologues) prologueEnd(start uint64, f *fn) (uint64, prologueLine) {
	if pc, ok := pr.markedEnd(start); ok {
		return pc, prologueLine{pr.lineAt(pc), true}
	}
	pc := pr.afterFrame(start)
	body := pr.lineAt(pc)
	if body.PC != pc && pr.sameFunc(f, pc, body.End) {
		pc = body.End
		body = pr.lineAt(pc)
	}
	return pc, prologueLine{body, false}
}

func (pr *prologues) sameFunc(f *fn, pc, next uint64) bool {
	if f != nil {
		return f.entry() <= next && next < f.end()
	}
	a, _, ok1 := pr.symbolAt(pc)
	b, _, ok2 := pr.symbolAt(next)
	return ok1 && ok2 && a.Value == b.Value
}

// partialFunc is the range of the function around pc: that part of it which
// holds pc, or its symbol.
func (pr *prologues) partialFunc(pc uint64) (lo, hi uint64, ok bool) {
	if u := pr.unitFor(pc); u != nil {
		if f := u.functions().at(pc); f != nil {
			for _, r := range f.ranges {
				if pc >= r.Lo && pc < r.Hi {
					return r.Lo, r.Hi, true
				}
			}
		}
	}
	s, end, ok := pr.symbolAt(pc)
	return s.Value, end, ok
}

// markedEnd finds DW_LNS_set_prologue_end in the function's lines.
func (pr *prologues) markedEnd(start uint64) (uint64, bool) {
	lo, hi, ok := pr.partialFunc(start)
	if !ok {
		return 0, false
	}
	s := pr.lineAt(lo)
	if s.File == nil || s.File.IsAssembler() {
		return 0, false
	}
	e := s.File.Entries
	for i := sort.Search(len(e), func(i int) bool { return e[i].PC >= lo }); i < len(e) && e[i].PC <= hi; i++ {
		if e[i].PrologueEnd {
			return e[i].PC, true
		}
	}
	return 0, false
}

// firstLinePC is the first address of the function that its file has a line for.
func (pr *prologues) firstLinePC(pc uint64, f *fn) uint64 {
	lo, hi, ok := pr.partialFunc(pc)
	if !ok || f == nil {
		return pc
	}
	lt := f.d.u.lineTab()
	if len(lt.ByRegister) < 2 || lt.ByRegister[1] == nil {
		return pc
	}
	for _, e := range lt.ByRegister[1].Entries {
		if e.Line > 0 && lo <= e.PC && e.PC < hi {
			return e.PC
		}
	}
	return pc
}

// afterFrame steps over the frame set-up. GDB goes by the lines for LLVM on x86-64
// (amd64_skip_prologue) and for all compilers on arm64 (aarch64_skip_prologue), else by the
// instructions. Those of arm64 are not read here: a function without lines keeps its start.
func (pr *prologues) afterFrame(start uint64) uint64 {
	u := pr.unitFor(start)
	byLines := host.Processor == &arm64.Processor
	if u != nil && (byLines || u.whole().head().llvm) {
		if pc := pr.prologueByLines(start); pc != 0 {
			return max(start, pc)
		}
	}
	if byLines {
		return start
	}
	pc, framed := pr.analyzePrologue(start)
	if !framed {
		return start
	}
	return pr.skipXMMSaves(pc, start)
}

// prologueByLines takes the second line of the function as its body, looking
// through lines that the scheduler moved up. 0 if that is not possible.
func (pr *prologues) prologueByLines(start uint64) uint64 {
	lo, hi, ok := pr.partialFunc(start)
	if !ok {
		return 0
	}
	p := pr.lineAt(lo)
	if p.File == nil {
		return p.PC
	}
	if !p.File.IsAssembler() && twoLinesAt(p.File.Entries, p.PC, lo) {
		return lo
	}
	if p.End >= hi {
		return 0
	}
	for p.End < hi {
		s := pr.lineAt(p.End)
		if s.File == nil || s.Line >= p.Line || s.File != p.File || pr.inInlined(p.End) {
			break
		}
		p = s
	}
	if p.End < hi {
		return p.End
	}
	return p.PC
}

// twoLinesAt reports whether the entry after the first line entry at pc is also at start.
func twoLinesAt(e []line.Entry, pc, start uint64) bool {
	i := sort.Search(len(e), func(i int) bool { return e[i].PC >= pc })
	for i < len(e) && e[i].PC == pc && e[i].Line == 0 {
		i++
	}
	return i+1 < len(e) && e[i].PC == pc && e[i+1].Line != 0 && e[i+1].PC == start
}

func (pr *prologues) inInlined(pc uint64) bool {
	b := pr.blockAt(pc, true)
	return b != nil && b.owner().inlined
}

var (
	endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	movRBP1 = []byte{0x48, 0x89, 0xe5}
	movRBP2 = []byte{0x48, 0x8b, 0xec}
)

// analyzePrologue recognises [stack alignment] [endbr64] push %rbp; mov %rsp,%rbp.
func (pr *prologues) analyzePrologue(pc uint64) (after uint64, framed bool) {
	pc += stackAlign(pr.file.ReadVaddr(pc, 18))
	b := pr.file.ReadVaddr(pc, 8)
	if bytes.HasPrefix(b, endbr64) {
		pc, b = pc+4, b[4:]
	}
	if len(b) >= 4 && b[0] == 0x55 && (bytes.HasPrefix(b[1:], movRBP1) || bytes.HasPrefix(b[1:], movRBP2)) {
		return pc + 4, true
	}
	return pc, false
}

// stackAlign is the length of GCC's stack realignment sequence at b, 0 if none:
//
//	[push %reg]; lea 8|16(%rsp),%reg; and $-X,%rsp; pushq -8(%reg)
func stackAlign(b []byte) uint64 {
	if len(b) < 18 {
		return 0
	}
	reg, n, ok := alignLea(b)
	if !ok || reg == 4 || reg == 5 {
		return 0
	}
	if b[n] != 0x48 || b[n+2] != 0xe4 || b[n+1] != 0x81 && b[n+1] != 0x83 {
		return 0
	}
	if b[n+1] == 0x81 {
		n += 7
	} else {
		n += 4
	}
	r := 0
	switch {
	case b[n] == 0xff:
		n++
	case b[n]&0xf6 == 0x40 && b[n+1] == 0xff:
		r = int(b[n]&1) * 8
		n += 2
	default:
		return 0
	}
	if b[n+1] != 0xf8 || b[n]&0xf8 != 0x70 || r+int(b[n]&7) != reg {
		return 0
	}
	return uint64(n + 2)
}

// alignLea recognises the part before the `and`.
func alignLea(b []byte) (reg, n int, ok bool) {
	if b[0]&0xfb == 0x48 && b[1] == 0x8d && b[3] == 0x24 && b[4] == 8 {
		return int(b[2]>>3&7) + int(b[0]>>2&1)*8, 5, b[2]&0xc7 == 0x44
	}
	switch {
	case b[0]&0xf8 == 0x50:
	case b[0]&0xf6 == 0x40 && b[1]&0xf8 == 0x50:
		reg, n = int(b[0]&1)*8, 1
	default:
		return 0, 0, false
	}
	reg += int(b[n] & 7)
	n++
	if b[n]&0xfb != 0x48 || b[n+1] != 0x8d || b[n+3] != 0x24 || b[n+4] != 16 || b[n+2]&0xc7 != 0x44 {
		return 0, 0, false
	}
	r := int(b[n+2]>>3&7) + int(b[n]>>2&1)*8
	return reg, n + 5, r == reg
}

// skipXMMSaves steps over the saving of xmm registers in functions with variable
// arguments: test %al,%al; je; eight movaps.
func (pr *prologues) skipXMMSaves(pc, start uint64) uint64 {
	u := pr.unitFor(start)
	s := pr.lineAt(start)
	if s.File == nil || u.whole().head().gcc < 5 || s.PC != start || pc >= s.End {
		return pc
	}
	next := pr.lineAt(s.End)
	if next.Line != s.Line {
		return pc
	}
	b := pr.file.ReadVaddr(next.PC-4, 4+8*7)
	if len(b) < 4+8*7 || b[0] != 0x84 || b[1] != 0xc0 || b[2] != 0x74 {
		return pc
	}
	n := 4
	for x := byte(0); x < 8; x++ {
		if b[n] != 0x0f || b[n+1] != 0x29 || b[n+2]&0x3f != x<<3|5 {
			return pc
		}
		switch b[n+2] & 0xc0 {
		case 0x40:
			n += 4
		case 0x80:
			n += 7
		default:
			return pc
		}
	}
	if n-4 != int(b[3]) {
		return pc
	}
	return next.End
}
