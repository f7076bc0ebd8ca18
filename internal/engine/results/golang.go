package results

import (
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

// onGoStack is why a result of Go is not available.
const onGoStack = "it is returned in memory, as the registers do not suffice, or its type is not known"

// inGoRegisters is where a function of Go returns its results. Several are the members of one structure, which
// has them in order without padding.
func inGoRegisters(results []dwarf.Result) (*ctype.Type, debuginfo.Location) {
	var a goAssign
	if len(results) == 1 {
		t := results[0].Type
		if !a.result(t) {
			return t, debuginfo.Location{Unavailable: onGoStack}
		}
		return t, debuginfo.Location{Pieces: a.pieces}
	}
	all := &ctype.Type{Kind: ctype.Struct}
	var fields []ctype.Field
	for _, r := range results {
		if !a.result(r.Type) {
			return all, debuginfo.Location{Unavailable: onGoStack}
		}
		fields = append(fields, ctype.Field{Name: r.Name, Type: r.Type, BitOffset: all.Size * 8})
		all.Size += r.Type.Strip().Size
	}
	all.SetFields(fields)
	return all, debuginfo.Location{Pieces: a.pieces}
}

// goAssign assigns registers to values.
type goAssign struct {
	ints, floats int
	pieces       []debuginfo.Piece
	at, end      int64 // of the value: the next byte, and the bytes before it of all values
}

// result assigns registers to a result; false if it does not fit in those that are left.
func (a *goAssign) result(t *ctype.Type) bool {
	a.end, a.at = a.end+a.at, 0
	if !a.value(t, 0, 0) {
		return false
	}
	a.pad(t.Strip().Size)
	return true
}

// pad makes the bytes up to off missing: padding.
func (a *goAssign) pad(off int64) {
	if off > a.at {
		a.pieces = append(a.pieces, debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: (off - a.at) * 8})
		a.at = off
	}
}

func (a *goAssign) value(t *ctype.Type, off int64, depth int) bool {
	s := t.Strip()
	switch s.Kind {
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum, ctype.Pointer, ctype.Reference:
		return s.Size <= 8 && a.word(off, s.Size)
	case ctype.Float:
		return a.float(off, s.Size)
	case ctype.Complex:
		return a.float(off, s.Size/2) && a.float(off+s.Size/2, s.Size/2)
	case ctype.Array:
		switch {
		case s.Count == 0:
			return true
		case s.Count == 1 && s.Elem != nil:
			return a.value(s.Elem, off, depth+1)
		}
		return false
	case ctype.Struct:
		if depth > 16 {
			return false
		}
		for _, f := range s.Fields() {
			if f.BitSize != 0 || !a.value(f.Type, off+f.BitOffset/8, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

func (a *goAssign) word(off, size int64) bool {
	if a.ints >= len(amd64.GoResults) || off < a.at {
		return false
	}
	a.pad(off)
	a.pieces = append(a.pieces, debuginfo.Piece{Kind: debuginfo.InRegister, Reg: int(amd64.GoResults[a.ints]), BitSize: size * 8})
	a.ints++
	a.at = off + size
	return true
}

func (a *goAssign) float(off, size int64) bool {
	if a.floats >= amd64.GoVectors || off < a.at || size != 4 && size != 8 {
		return false
	}
	a.pad(off)
	a.pieces = append(a.pieces, debuginfo.Piece{Kind: debuginfo.InRegister, Reg: int(amd64.DwarfXMM0) + a.floats, BitSize: size * 8})
	a.floats++
	a.at = off + size
	return true
}
