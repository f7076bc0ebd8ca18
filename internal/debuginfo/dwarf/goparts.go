package dwarf

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/loc"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// Go's compiler keeps the parts of a variable (the words of a string, the members of a structure) apart, and describes those that are
// used (cmd/compile/internal/ssa/debug.go, Go 1.26). Three things about these lists of locations differ from what DWARF says:
//
//  1. If one part is used, it is described as if it were the whole.
//  2. If some are used, they are described one behind the other: the first and third word of a slice as its first and second.
//  3. The bytes between members are left out.
//
// Variables that are in memory as a whole have no list, or one whose addresses are in the function's own frame.

// optimisedGo reports whether the unit was not compiled with -N, by which variables are in memory as a whole.
func (u *unit) optimisedGo() bool { return !slices.Contains(strings.Fields(u.head().producer), "-N") }

// goPart is a part of a variable that Go's compiler keeps by itself. In bits.
type goPart struct{ at, size int64 }

// maxGoParts bounds the search; variables of more parts are in memory as a whole.
const maxGoParts = 64

// goParts appends the parts of a t; false: they are not known.
func goParts(list []goPart, t *ctype.Type, at int64, depth int) ([]goPart, bool) {
	s := t.Strip()
	ok := depth < 16 && s.Size >= 0 && len(list) < maxGoParts
	switch s.Kind {
	case ctype.Struct:
		for _, f := range s.Fields() {
			if list, ok = goParts(list, f.Type, at+f.BitOffset, depth+1); !ok || f.BitSize != 0 || f.Virtual {
				return nil, false
			}
		}
		return list, ok
	case ctype.Array:
		if s.Elem == nil || s.Count < 0 || s.Count > maxGoParts || s.Vector {
			return nil, false
		}
		for i := range s.Count {
			if list, ok = goParts(list, s.Elem, at+8*i*s.Elem.Strip().Size, depth+1); !ok {
				return nil, false
			}
		}
		return list, ok
	case ctype.Complex:
		return append(list, goPart{at, 4 * s.Size}, goPart{at + 4*s.Size, 4 * s.Size}), ok
	case ctype.Invalid, ctype.Void, ctype.Func, ctype.Union:
		return nil, false
	}
	return append(list, goPart{at, 8 * s.Size}), ok
}

// largestInGoRegisters is more than Go's 9 registers for integers and 15 for other numbers have.
const largestInGoRegisters = 256

// goLocation corrects the location of a variable of type t that a list of Go's compiler gives, or says why it has no value.
func (ts *types) goLocation(u *unit, at debuginfo.Location, list []loc.Entry, t *ctype.Type) debuginfo.Location {
	if at.Unavailable != "" || len(at.Pieces) == 0 || t.Strip().Size > largestInGoRegisters {
		return at
	}
	parts, ok := goParts(nil, ts.withMembers(t, largestInGoRegisters, 0), 0, 0)
	if !ok || len(parts) < 2 {
		return at
	}
	if len(at.Pieces) == 1 && at.Pieces[0].BitSize == 0 {
		optimised := u.optimisedGo()
		if slices.ContainsFunc(list, func(e loc.Entry) bool { return inRegister(e) || optimised && inCaller(e) }) {
			return debuginfo.Location{Unavailable: "the compiler describes one part of it, and not which"}
		}
		return at
	}
	fits := func(p debuginfo.Piece, part goPart) bool { return p.BitSize == part.size }
	if !slices.EqualFunc(at.Pieces, parts, fits) {
		return debuginfo.Location{Unavailable: "the compiler describes some parts of it, and not which"}
	}
	var pieces []debuginfo.Piece
	end := int64(0)
	hole := func(to int64) {
		if to > end {
			pieces = append(pieces, debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: to - end})
		}
	}
	for i, part := range parts {
		hole(part.at)
		pieces, end = append(pieces, at.Pieces[i]), part.at+part.size
	}
	hole(8 * t.Strip().Size)
	at.Pieces = pieces
	return at
}

// A variable whose list has one register, or in optimised code one place in the caller's frame, is never described as a whole: what the
// function stores in its own frame is this part, too, and a parameter that is in memory as a whole has no list.

func inRegister(e loc.Entry) bool {
	const reg0, reg31 = 0x50, 0x6f
	return len(e.Expr) == 1 && e.Expr[0] >= reg0 && e.Expr[0] <= reg31
}

func inCaller(e loc.Entry) bool {
	const fbreg, callFrameCFA = 0x91, 0x9c
	if len(e.Expr) == 1 {
		return e.Expr[0] == callFrameCFA
	}
	if len(e.Expr) < 2 || e.Expr[0] != fbreg {
		return false
	}
	c := raw.At(e.Expr, 1)
	return c.SLEB() >= 0 && !c.Bad && c.Left() == 0
}
