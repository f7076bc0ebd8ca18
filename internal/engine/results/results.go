package results

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/convention"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
)

// Function is a function that returns.
type Function struct {
	Module *dwarf.Module
	// Site is an instruction of it, and Entry where it begins: addresses in the file.
	Site  dwarf.Site
	Entry uint64
	// Text gives the machine code of the module, Bias behind the addresses in the file. It is called where the types do not
	// decide.
	Text func() (*patch.Text, error)
	Bias uint64
}

// Variable is $retval at a return of the function. A location without pieces is in memory, at the address that the first
// argument's register had at the entry. Nil: the function returns nothing.
func (f *Function) Variable() *debuginfo.Variable {
	r := f.Module.Returned(f.Site.Addr)
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
		v.Loc = f.ofRust(v.Type, r.Unproved)
	default:
		v.Type = r.Results[0].Type
		v.Loc = convention.Result(v.Type, r.Memory)
		if r.Unproved && v.Loc.Unavailable == "" {
			if p := (place{v.Loc, registersOf(v.Loc)}); p.regs != 0 {
				v.Loc = f.proved([]place{p}, true)
			} else {
				v.Loc = debuginfo.Location{Unavailable: mayBeRemoved}
			}
		}
	}
	return v
}
