package kernel

import (
	"sync"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/engine/results"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/sema"
)

// exit describes the return of a function that begins at vaddr to its caller. A tail call returns there too: the result is
// the other function's, by the same convention.
func (f *files) exit(m *dwarf.Module, name string, vaddr uint64) func() *sema.Exit {
	return sync.OnceValue(func() *sema.Exit {
		return &sema.Exit{Value: f.result(m, name, vaddr), NoPair: "at a uretprobe of the kernel the entry of the call is not kept (FUNCTION%return in a process has it)"}
	})
}

// result is $retval; nil: the function returns nothing.
func (f *files) result(m *dwarf.Module, name string, vaddr uint64) *debuginfo.Variable {
	if host.Processor.Name != amd64.Processor.Name {
		return plainResult(m.Returned(vaddr))
	}
	fn := results.Function{Module: m, Site: dwarf.Site{Func: name, Addr: vaddr}, Entry: vaddr, Text: func() (*patch.Text, error) {
		return f.textOf(m)
	}}
	v := fn.Variable()
	if v != nil && v.Loc.Unavailable == "" && len(v.Loc.Pieces) == 0 {
		v.Loc.Unavailable = "it is in memory, at an address that only the function's entry has (FUNCTION%return in a process keeps it)"
	}
	return v
}

// plainResult is the result in the first register, where the convention says no more than that numbers and pointers are there.
func plainResult(r dwarf.Returned) *debuginfo.Variable {
	if r.Why == "" && len(r.Results) == 0 {
		return nil
	}
	v := &debuginfo.Variable{Name: "retval", Kind: debuginfo.Local, Type: ctype.ULongT}
	if len(r.Results) == 1 {
		v.Type = r.Results[0].Type
	}
	switch s := v.Type.Strip(); s.Kind {
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum, ctype.Pointer, ctype.Reference:
		if r.Why == "" && s.Size <= 8 && !r.Unproved {
			p := debuginfo.Piece{Kind: debuginfo.InRegister, Reg: int(host.Processor.Results[0]), BitSize: s.Size * 8}
			v.Loc.Pieces = []debuginfo.Piece{p}
			return v
		}
	}
	if v.Loc.Unavailable = r.Why; r.Why == "" {
		v.Loc.Unavailable = "on this processor only numbers and pointers in the first register are taken"
	}
	return v
}

// textOf is the machine code of a file.
func (f *files) textOf(m *dwarf.Module) (*patch.Text, error) {
	if t := f.texts[m]; t != nil {
		return t, nil
	}
	t, err := results.Text(m, 0)
	if err == nil {
		f.texts[m] = t
	}
	return t, err
}
