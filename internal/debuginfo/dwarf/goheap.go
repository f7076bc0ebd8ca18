package dwarf

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Go moves a parameter to the heap if its address outlives the function. The compiler describes it by a word of the frame that has the
// object's address, from the function's first byte on; but the object is made, and the value copied, by code of the line that
// declares the function, and optimised code stores the word only where it needs the register. Then the variable &x is described, by a list.

// movedToHeap corrects the location of such a variable, or says why it has no value.
func (lo *locations) movedToHeap(d die, at debuginfo.Location) debuginfo.Location {
	u := lo.f.d.u.whole()
	if !u.isGo() || !byAddress(at) {
		return at
	}
	if off, known, ok := lo.fromCFA(at); !ok || known && off >= 0 {
		return at
	}
	if !u.optimisedGo() {
		if !lo.inBody(lo.f.entry()) {
			return debuginfo.Location{Unavailable: NotMoved}
		}
		return at
	}
	vars := lo.f.tree().vars
	i := slices.IndexFunc(vars, func(v die) bool { return v.name() == "&"+d.name() })
	if i < 0 {
		return debuginfo.Location{Unavailable: notDescribed}
	}
	list, ok := vars[i].deep(atLocation)
	if !ok || !list.isSecOffset() {
		return debuginfo.Location{Unavailable: notDescribed}
	}
	made := lo.f.end()
	for _, e := range list.u.locList(list) {
		if e.Hi > e.Lo {
			made = min(made, e.Lo)
		}
	}
	if !lo.inBody(made) {
		return debuginfo.Location{Unavailable: NotMoved}
	}
	return pointedTo(lo.located(list))
}

const notDescribed = "the compiler does not describe where it is on the heap"

// pointedTo is the location of the object to which a pointer at a location points.
func pointedTo(at debuginfo.Location) debuginfo.Location {
	if at.Unavailable != "" || len(at.Pieces) != 1 {
		return debuginfo.Location{Unavailable: notDescribed + " here", Elsewhere: at.Elsewhere}
	}
	p := at.Pieces[0]
	switch p.Kind {
	case debuginfo.InRegister:
		p.Expr = []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(p.Reg)}}
	case debuginfo.InMemory:
		p.Expr = append(slices.Clone(p.Expr), debuginfo.Op{Code: debuginfo.OpDeref, Arg: 8})
	default:
		return debuginfo.Location{Unavailable: notDescribed + " here"}
	}
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: p.Expr}}}
}

// inBody reports whether pc is behind the code of the line that declares the function, as far as it begins at start.
func (lo *locations) inBody(start uint64) bool {
	_, declared := lo.f.d.declared()
	for range maxDeclarationRows {
		row := lo.m.lineAt(start)
		if row.File == nil || row.Line != declared || row.End <= start || row.End >= lo.f.end() {
			break
		}
		start = row.End
	}
	return lo.pc >= start && lo.m.lineAt(lo.pc).Line != declared
}

// maxDeclarationRows bounds the search for the body's first line.
const maxDeclarationRows = 1 << 12
