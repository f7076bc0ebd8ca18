package inproc

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/convention"
)

// returned is the variable $retval at a return of a function: its location follows from its type by the
// calling convention. Nil: the function returns nothing.
func (w *Site) returned() *debuginfo.Variable {
	r := w.mod.dw.Returned(w.site.Addr)
	v := &debuginfo.Variable{Name: "retval", Kind: debuginfo.Local}
	switch {
	case r.Why != "":
		v.Type = ctype.ULongT
		if len(r.Results) == 1 {
			v.Type = r.Results[0].Type
		}
		v.Loc.Unavailable = r.Why
	case len(r.Results) == 0:
		return nil
	case r.Go:
		v.Type, v.Loc = inGoRegisters(r.Results)
	case r.Rust:
		v.Type = r.Results[0].Type
		v.Loc = w.ofRust(v.Type, r.Unproved)
	default:
		v.Type = r.Results[0].Type
		v.Loc = convention.Result(v.Type, r.Memory)
		if r.Unproved && v.Loc.Unavailable == "" {
			if p := (place{v.Loc, registersOf(v.Loc)}); p.regs != 0 {
				v.Loc = w.proved([]place{p}, true)
			} else {
				v.Loc = debuginfo.Location{Unavailable: mayBeRemoved}
			}
		}
	}
	return v
}
