package inproc

import (
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Without optimisation a compiler says that a parameter is in its slot of the frame, from the first instruction on;
// but the function stores it there some instructions later. At the first instruction it still is where the calling
// convention passes it.

// notStored is why a parameter has no value at the first instruction.
const notStored = "the function has not stored it yet, and in which register it is passed is not certain"

// arrived returns the function that locates parameters at the first instruction of a function.
func (w *Site) arrived(scope debuginfo.Scope) func(*debuginfo.Variable) debuginfo.Location {
	var passed map[string]debuginfo.Location
	return func(v *debuginfo.Variable) debuginfo.Location {
		if passed == nil {
			passed = w.passed(scope.Args())
		}
		at, ok := passed[v.Name]
		if !ok {
			at = debuginfo.Location{Unavailable: notStored}
		}
		return sema.AtFirst(v.Loc, at)
	}
}

// passed is where numbers and pointers among the parameters are passed: psABI 3.2.3. Behind a parameter whose class is
// not certain nothing is.
func (w *Site) passed(params []*debuginfo.Variable) map[string]debuginfo.Location {
	at := map[string]debuginfo.Location{}
	r := w.mod.dw.Returned(w.site.Addr)
	if r.Why != "" || r.Unproved || r.Go || !w.mod.dw.SysV(w.site.Addr) {
		return at
	}
	general, vector := amd64.Processor.Args, int64(0)
	if len(r.Results) == 1 {
		var c classes
		why := c.add(r.Results[0].Type.Strip(), 0, 0)
		if r.Memory || why == inMemory {
			general = general[1:] // the address of the result
		} else if why != "" && why != x87 {
			return at
		}
	}
	for _, v := range params {
		if v.Type == nil {
			return at
		}
		t := v.Type.Strip()
		p := debuginfo.Piece{Kind: debuginfo.InRegister, BitSize: t.Size * 8}
		switch {
		case t.Size <= 0:
			return at
		case t.Kind == ctype.Float && t.Size == 16: // on the stack
			continue
		case t.Kind == ctype.Float && t.Size <= 8:
			if vector == maxVectorArgs {
				continue
			}
			p.Reg = int(amd64.DwarfXMM0) + int(vector)
			vector++
		case isWordType(t):
			if len(general) == 0 {
				continue
			}
			p.Reg, general = int(general[0]), general[1:]
		default:
			return at
		}
		at[v.Name] = debuginfo.Location{Pieces: []debuginfo.Piece{p}}
	}
	return at
}

// maxVectorArgs is how many vector registers pass arguments.
const maxVectorArgs = 8

// isWordType reports whether values of a type are passed in one register for integers.
func isWordType(t *ctype.Type) bool {
	switch t.Kind {
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum, ctype.Pointer, ctype.Reference:
		return t.Size <= 8
	}
	return false
}
