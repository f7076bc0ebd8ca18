package btf

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Scopes at the entry and return of functions. A module is "" when the function's
// is not known. k may be nil where no error is returned: registers are all that
// is known then.

// EntryScope is what names mean before a function's first instruction, where a
// program has the registers (a kprobe): its parameters, by their names and as
// members of the struct args.
func (k *Kernel) EntryScope(fn, module string) debuginfo.Scope {
	s, f := k.funcScope(fn, module)
	if f == nil {
		return s
	}
	at := entryPlaces(f.Params, f.Result)
	s.setArgs(f.Params, at)
	if loc, ok := together(f.Params, at); ok {
		s.set("args", argsType(f.Params), loc)
	}
	return s
}

// ReturnScope is what names mean where a function has returned, with the
// registers (a kretprobe): retval. Its parameters are gone.
func (k *Kernel) ReturnScope(fn, module string) debuginfo.Scope {
	s, f := k.funcScope(fn, module)
	if f == nil {
		return s
	}
	if f.Result.Strip().Kind != ctype.Void {
		s.set("retval", f.Result, returnPlace(f.Result))
	}
	at := make([]debuginfo.Location, len(f.Params))
	for i := range at {
		at[i].Unavailable = "it is gone when the function returns: use fexit:" + fn
	}
	s.setArgs(f.Params, at)
	return s
}

// FentryScope is the scope at a function's entry through a BPF trampoline: its parameters in the words of
// the context, by their names and as members of the struct args. The error is the reason why there can be
// no trampoline.
func (k *Kernel) FentryScope(fn, module string) (debuginfo.Scope, error) {
	s, _, err := k.trampolineScope(fn, module)
	return s, err
}

// FexitScope is FentryScope at the return of the function: it also has retval, in the word after the
// parameters.
func (k *Kernel) FexitScope(fn, module string) (debuginfo.Scope, error) {
	s, f, err := k.trampolineScope(fn, module)
	if err != nil {
		return nil, err
	}
	if f.Result.Strip().Kind != ctype.Void {
		word := int64(0)
		for _, p := range f.Params {
			word += words(p.Type)
		}
		s.vars["retval"] = &debuginfo.Variable{Name: "retval", Type: f.Result, Kind: debuginfo.Local, Loc: inContext(word)}
	}
	return s, nil
}

func (k *Kernel) trampolineScope(fn, module string) (*scope, *Func, error) {
	f, err := k.Func(fn, module)
	if err != nil {
		return nil, nil, err
	}
	if why := trampolined(f); why != "" {
		return nil, nil, fmt.Errorf("fentry and fexit cannot take %s: %s", fn, why)
	}
	s := k.newScope(fn, f.unit)
	s.setArgs(f.Params, contextPlaces(f.Params))
	s.set("args", argsType(f.Params), inContext(0))
	return s, f, nil
}

// funcScope returns a scope without variables. If the function is not described, f is nil and the scope has
// the reason.
func (k *Kernel) funcScope(fn, module string) (s *scope, f *Func) {
	if k == nil {
		return k.newScope(fn), nil
	}
	f, err := k.Func(fn, module)
	if err == nil {
		return k.newScope(fn, f.unit), f
	}
	s = k.newScope(fn, k.module(module))
	s.hint = "the kernel's BTF does not describe " + fn + ", so only registers ($rdi, $rsi, ...) are known"
	var nf *debuginfo.NotFoundError
	if errors.As(err, &nf) && nf.Hint != "" {
		s.hint = fn + ": " + nf.Hint
	}
	return s, nil
}

// together is the location of all parameters as the struct args: a piece for
// each word. It fails when one of them has none.
func together(params []Param, at []debuginfo.Location) (debuginfo.Location, bool) {
	var out debuginfo.Location
	for i, p := range params {
		if at[i].Unavailable != "" {
			return out, false
		}
		left := words(p.Type) * 64
		for j, q := range at[i].Pieces {
			// What is behind a value in its words is padding, and readable.
			if q.BitSize = 64; j == len(at[i].Pieces)-1 {
				q.BitSize = left
			}
			left -= q.BitSize
			out.Pieces = append(out.Pieces, q)
		}
	}
	return out, len(out.Pieces) > 0
}
