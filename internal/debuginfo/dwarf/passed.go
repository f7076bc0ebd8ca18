package dwarf

import (
	"bytes"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/convention"
)

// Where the parameters of a function are while it has not stored them.

// entered reports whether pc is at the function's first instruction, or behind an endbr64 there.
func (lo *locations) entered() bool {
	if lo.atEntry() {
		return true
	}
	start := lo.f.entry()
	return lo.pc == start+uint64(len(endbr64)) && bytes.Equal(lo.m.file.ReadVaddr(start, len(endbr64)), endbr64)
}

// inPrologue reports whether pc is behind the function's first instruction, but not behind what the compiler marks as
// the code that makes the frame, where it is not optimised.
func (lo *locations) inPrologue() bool {
	u := lo.m.unitFor(lo.pc)
	if u == nil || u.locationsValid() {
		return false
	}
	start := lo.f.entry()
	return lo.pc < max(lo.m.funcStart(start).PC, lo.m.prologueByLines(start))
}

// inFrame reports whether a location at the first instruction is in the frame that the function is about to make.
func (lo *locations) inFrame(loc debuginfo.Location) bool {
	off, known, ok := lo.fromCFA(loc)
	return ok && (!known || off < 0)
}

// stacked reports whether a location is among the arguments that the caller has put on the stack.
func (lo *locations) stacked(loc debuginfo.Location) bool {
	off, known, ok := lo.fromCFA(loc)
	return ok && known && off >= 0
}

// fromCFA is the distance from the canonical frame address to where a location in memory is, or to its address. ok: it
// is by a register of the frame. Without known the distance is not certain: the register is the caller's, or will
// change.
func (lo *locations) fromCFA(loc debuginfo.Location) (off int64, known, ok bool) {
	if len(loc.Pieces) != 1 || loc.Pieces[0].Kind != debuginfo.InMemory {
		return 0, false, false
	}
	reg, off, ok := fromRegister(loc.Pieces[0].Expr)
	if !ok || reg != int64(host.Processor.FP) && reg != int64(host.Processor.SP) {
		return 0, false, false
	}
	base, cfa, known := fromRegister(lo.cfa)
	return off - cfa, known && base == reg && !lo.movesBase(), true
}

// fromRegister returns the register and the distance with which an expression begins.
func fromRegister(ops []debuginfo.Op) (reg, off int64, ok bool) {
	if len(ops) == 0 || ops[0].Code != debuginfo.OpReg {
		return 0, 0, false
	}
	for _, op := range ops[1:] {
		if op.Code != debuginfo.OpAddConst {
			break
		}
		off += op.Arg
	}
	return ops[0].Arg, off, true
}

// byAddress reports whether a location in memory is where a word of the frame points.
func byAddress(loc debuginfo.Location) bool {
	if len(loc.Pieces) != 1 || loc.Pieces[0].Kind != debuginfo.InMemory {
		return false
	}
	ops := loc.Pieces[0].Expr
	return len(ops) > 0 && ops[len(ops)-1].Code == debuginfo.OpDeref
}

// passed is where the calling convention passes the parameters of the function, by the offsets of their entries.
func (lo *locations) passed() map[uint64]convention.Place {
	if lo.places == nil {
		lo.places = map[uint64]convention.Place{}
		lo.pass()
	}
	return lo.places
}

func (lo *locations) pass() {
	f := lo.f.d
	u := f.sourceUnit().whole()
	fortran := u.isFortran()
	if host.Processor != &amd64.Processor || !u.isC() && !u.isCxx() && !fortran || lo.cloned() {
		return
	}
	r := lo.m.returned(lo.f.entry())
	if r.Why != "" {
		return
	}
	var result *ctype.Type
	if len(r.Results) == 1 {
		result = lo.m.withMembers(r.Results[0].Type, 16, 0)
	}
	// What only this file calls may have lost parameters; then not all of them have locations in the frame.
	exported := lo.m.exported(lo.f)
	var list []convention.Param
	var dies []die
	var described []debuginfo.Location
	for c := range f.children() {
		if c.ab.tag != tagFormalParameter {
			continue
		}
		p := convention.Param{Type: lo.m.withMembers(lo.m.typeOf(c), 16, 0)}
		var at debuginfo.Location
		if v, ok := c.deep(atLocation); ok {
			at = lo.located(v)
		}
		_, _, framed := lo.fromCFA(at)
		p.ByReference, p.Unknown = lo.byReference(c, p.Type, at, framed)
		if !fortran && len(list) > 0 && c.deepFlag(atArtificial) || u.isC() && !f.deepFlag(atPrototyped) && isFloat(p.Type) {
			p.Unknown = true // a constructor's hidden parameter need not be passed; without a prototype it is a double
		}
		list, dies, described = append(list, p), append(dies, c), append(described, at)
	}
	places := convention.Params(list, result, r.Memory)
	for i, at := range places {
		if _, _, framed := lo.fromCFA(described[i]); !exported && !framed && !sameRegisters(described[i], at.Loc) {
			return
		}
		if at.Known && !at.OnStack && len(at.Loc.Pieces) > 0 && lo.stacked(described[i]) {
			lo.foreign = true // another convention, which has room on the stack for arguments in registers
			return
		}
	}
	for i, at := range places {
		lo.places[dies[i].off] = at
	}
}

// byReference reports whether a parameter is passed as an address. at is its described location, framed: by a register
// of the frame.
func (lo *locations) byReference(d die, t *ctype.Type, at debuginfo.Location, framed bool) (yes, unknown bool) {
	pointed := framed && byAddress(at)
	u := d.sourceUnit().whole()
	k := t.Strip().Kind
	switch {
	case u.isFortran() && !framed:
		pointed = len(at.Pieces) == 1 && at.Pieces[0].Kind == debuginfo.InMemory
		return pointed, len(at.Pieces) != 1
	case u.isFortran():
		return pointed, false
	case u.isCxx() && (k == ctype.Struct || k == ctype.Union):
		memory, why := lo.m.classInMemory(d)
		if why != "" {
			return pointed, !framed
		}
		return memory, framed && memory != pointed
	}
	return false, pointed
}

// isFloat reports whether a parameter is a float, which functions without a prototype take as double.
func isFloat(t *ctype.Type) bool { return t.Strip().Kind == ctype.Float && t.Strip().Size < 8 }

// sameRegisters reports whether two locations are in the same registers, or where the same register points.
func sameRegisters(a, b debuginfo.Location) bool {
	if len(a.Pieces) == 0 || len(a.Pieces) != len(b.Pieces) {
		return false
	}
	for i, p := range a.Pieces {
		q := b.Pieces[i]
		if p.Kind != q.Kind || p.Reg != q.Reg || !slices.Equal(p.Expr, q.Expr) || p.Kind != debuginfo.InRegister && p.Kind != debuginfo.InMemory {
			return false
		}
	}
	return true
}

// cloned reports whether the compiler may have made the function from another with other parameters.
func (lo *locations) cloned() bool {
	if v, ok := lo.f.d.deep(atCallingConvention); ok && v.N != ccNormal {
		return true
	}
	sym, _, ok := lo.m.symbolAt(lo.f.entry())
	if !ok || sym.Value != lo.f.entry() {
		return false
	}
	changed := func(part string) bool { return strings.Contains(sym.Name, part) }
	return slices.ContainsFunc([]string{".isra.", ".part.", ".constprop.", ".cold"}, changed) || strings.HasPrefix(sym.Name, "_ZGV")
}

// ccNormal is DW_CC_normal.
const ccNormal = 1

// passedIn is the register that parameter d is passed in, if a symbol that other files can see is at the entry, so that
// no optimisation has changed how the function is called.
func (lo *locations) passedIn(d die) (reg int, ok bool) {
	if !lo.m.exported(lo.f) {
		return 0, false
	}
	at := lo.passed()[d.off].Loc
	if len(at.Pieces) != 1 || at.Pieces[0].Kind != debuginfo.InRegister || at.Pieces[0].Reg >= int(host.Processor.Vector0) {
		return 0, false
	}
	return at.Pieces[0].Reg, true
}
