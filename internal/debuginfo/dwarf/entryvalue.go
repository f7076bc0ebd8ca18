package dwarf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// What a function was called with, at its entry. Where a parameter is changed before
// any instruction needs its first value, clang describes only the changed one, from the
// function's first byte on: rc is "rdi + 1" or the constant 7 there. gcc adds an entry
// without extent for the first value (locEntry).

const changedAtEntry = "optimised out here: the compiler describes only the value that it is changed to"

// NotStored is why a parameter has no value in the code that stores it.
const NotStored = "the function has not stored it yet, and in which register it is passed is not certain"

// NotMoved is why a variable of Go has no value in the code before the first line of the body.
const NotMoved = "it is moved to the heap by code that is not executed yet here"

// NotBegun is why a variable of the frame has no value at the first instruction.
const NotBegun = "it has no value yet at the function's first instruction"

// atCall corrects the location of parameter d in the code that makes the function's frame.
//
// In code that is not optimised, one location in the frame counts for the whole function, which has not stored the
// parameter there yet. This holds for some parameters of optimised code too: those whose address is taken. At the
// first instruction the value is where the calling convention passes it.
//
// Of clang, a computed value cannot be the passed one. The passed value is in the register of the calling
// convention if that is certain: the function can be called from outside, so all its parameters exist, and the
// computation uses that register.
func (lo *locations) atCall(d die, loc debuginfo.Location) debuginfo.Location {
	if lo.f == nil || lo.pc < lo.f.entry() {
		return loc
	}
	if loc = lo.movedToHeap(d, loc); loc.Unavailable != "" {
		return loc
	}
	entry := lo.entered()
	if !d.isParam() || !lo.f.d.has(d) {
		if entry && lo.inFrame(loc) {
			return debuginfo.Location{Unavailable: NotBegun}
		}
		return loc
	}
	if !entry && !lo.inPrologue() {
		return loc
	}
	if lo.inFrame(loc) {
		if entry {
			if at := lo.passed()[d.off]; at.Known && !at.OnStack {
				return at.Loc
			}
		}
		return debuginfo.Location{Unavailable: NotStored}
	}
	if lo.stacked(loc) {
		if lo.passed(); lo.foreign { // it is to be stored there
			return debuginfo.Location{Unavailable: NotStored}
		}
		return loc
	}
	if !lo.atEntry() || !d.u.isClang() {
		return loc
	}
	changed := func(p debuginfo.Piece) bool {
		return p.Kind == debuginfo.IsBytes || p.Kind == debuginfo.IsValue && !unchanged(p.Expr)
	}
	if len(loc.Pieces) > 1 {
		for i, p := range loc.Pieces {
			if changed(p) {
				loc.Pieces[i] = debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: p.BitSize}
			}
		}
		return loc
	}
	if len(loc.Pieces) == 0 {
		return loc
	}
	p := loc.Pieces[0]
	reg, certain := lo.passedIn(d)
	switch {
	case p.Kind == debuginfo.InRegister && certain && p.Reg != reg:
	case p.Kind == debuginfo.InRegister && !certain && lo.shared(d, p.Reg):
	case !changed(p):
		return loc
	case certain && onlyRegister(p.Expr, reg):
		return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: reg}}}
	}
	return debuginfo.Location{Unavailable: changedAtEntry, Elsewhere: loc.Elsewhere}
}

// shared reports whether another parameter is in the same register: one of the two is
// a copy of the other then.
func (lo *locations) shared(d die, reg int) bool {
	for c := range lo.f.d.children() {
		if v, ok := c.deep(atLocation); ok && c.isParam() && c.off != d.off {
			if l := lo.located(v); len(l.Pieces) == 1 && l.Pieces[0].Kind == debuginfo.InRegister && l.Pieces[0].Reg == reg {
				return true
			}
		}
	}
	return false
}

// has reports whether an entry is a direct child of d.
func (d die) has(e die) bool {
	if d.u != e.u {
		return false
	}
	for c := range d.children() {
		if c.off >= e.off {
			return c.off == e.off
		}
	}
	return false
}

// isClang: the unit is of C or C++, compiled by clang.
func (r *unitRoot) isClang() bool {
	return (r.isC() || r.isCxx()) && strings.Contains(r.head().producer, "clang")
}

// unchanged: an expression that only converts the value of a register.
func unchanged(ops []debuginfo.Op) bool {
	if len(ops) == 0 || ops[0].Code != debuginfo.OpReg {
		return false
	}
	for i := 1; i < len(ops); i++ {
		switch op := ops[i]; {
		case op.Code == debuginfo.OpConvert:
		case op.Code == debuginfo.OpConst && i+1 < len(ops) && ops[i+1].Code == debuginfo.OpAnd && isMask(uint64(op.Arg)):
			i++
		default:
			return false
		}
	}
	return true
}

// isMask: the low bits, in whole bytes.
func isMask(n uint64) bool { return n == 0xff || n == 0xffff || n == 0xffffffff || n == 1<<64-1 }

// onlyRegister: the expression uses that register and no other, and no memory.
func onlyRegister(ops []debuginfo.Op, reg int) bool {
	used := false
	for _, op := range ops {
		switch op.Code {
		case debuginfo.OpReg:
			if op.Arg != int64(reg) {
				return false
			}
			used = true
		case debuginfo.OpDeref, debuginfo.OpTLS, debuginfo.OpEnv:
			return false
		}
	}
	return used
}
