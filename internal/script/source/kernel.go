// Package source finds the types that scripts name: those of the kernel by its BTF, arguments of tracepoints by
// their format files, types and variables of programs by their debug information.
//
// Import rule: source imports lang/script, script/syscalls, callargs, ctype and the packages of debuginfo.
package source

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// Kernel is the running kernel. Its files are read when something of them is asked for; what cannot be read is
// unknown.
type Kernel struct {
	once  sync.Once
	types *btf.Kernel // nil if there is no BTF
	fs    *tracefs.FS // nil if tracefs is not mounted
	why   error
}

// Open returns the running kernel.
func Open() *Kernel { return &Kernel{} }

// With returns a kernel of which the parts are known; they may be nil.
func With(types *btf.Kernel, fs *tracefs.FS) *Kernel {
	k := &Kernel{types: types, fs: fs}
	k.once.Do(func() {})
	return k
}

func (k *Kernel) open() {
	k.once.Do(func() {
		if t, err := btf.Open(); err == nil {
			k.types = t
		} else {
			k.why = err
		}
		if fs, err := tracefs.Open(); err == nil {
			k.fs = fs
		} else if k.why == nil {
			k.why = err
		}
	})
}

// Named returns struct, union or enum (tag), or typedef (tag "") name.
func (k *Kernel) Named(_ *script.Place, tag, name string) *ctype.Type {
	if k.open(); k.types == nil || name == "" {
		return nil
	}
	return k.types.Named(strings.TrimSpace(tag + " " + name))
}

// Enumerator returns the enum that has a constant; int for a constant of C's headers.
func (k *Kernel) Enumerator(_ *script.Place, name string) (*ctype.Type, int64) {
	if t, v := constant(name); t != nil {
		return t, v
	}
	if k.open(); k.types != nil {
		if t, v, ok := k.types.Enumerator(name); ok {
			return t, v
		}
	}
	return argument(name)
}

// Variable returns nil: the kernel's variables are read through addresses.
func (k *Kernel) Variable(*script.Place, string) *ctype.Type { return nil }

// Args returns the arguments at a place of the kernel as a struct.
func (k *Kernel) Args(pl *script.Place) (*ctype.Type, error) {
	k.open()
	switch pl.Provider.Name {
	case "tracepoint":
		return k.record(pl)
	case "rawtracepoint":
		if k.types == nil {
			return nil, k.unknown()
		}
		name, err := k.first(pl.Name, k.types.Tracepoints)
		if err != nil {
			return nil, err
		}
		tp, err := k.types.Tracepoint(name)
		if err != nil {
			return nil, err
		}
		return structOf(tp.Params), nil
	case "fentry", "fexit":
		f, err := k.function(pl)
		if err != nil {
			return nil, err
		}
		return structOf(f.Params), nil
	}
	return nil, errors.New("they are read as arg0, arg1, ...")
}

func (k *Kernel) unknown() error {
	if k.why != nil {
		return k.why
	}
	return errors.New("the kernel has no BTF")
}

// record is the struct of a tracepoint's own fields.
func (k *Kernel) record(pl *script.Place) (*ctype.Type, error) {
	if k.fs == nil {
		return nil, k.unknown()
	}
	system, name := pl.Target, pl.Name
	if pl.Wildcard() {
		names, err := k.fs.Match(system, name)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, errors.New("there is no such tracepoint")
		}
		system, name = names[0].System, names[0].Event
	}
	e, err := k.fs.Event(system, name)
	if err != nil {
		return nil, err
	}
	return k.enumerated(e.Record()), nil
}

// enumerated is a record whose enums have the constants of the kernel's types: format files have only their names.
func (k *Kernel) enumerated(t *ctype.Type) *ctype.Type {
	fields := slices.Clone(t.Fields())
	for i, f := range fields {
		if s := f.Type.Strip(); s.Kind == ctype.Enum && len(s.Enumerators()) == 0 && s.Name != "" {
			if full := k.Named(nil, "enum", s.Name); full != nil && full.Size == s.Size {
				fields[i].Type = full
			}
		}
	}
	out := &ctype.Type{Kind: t.Kind, Name: t.Name, Size: t.Size}
	out.SetFields(fields)
	return out
}

// first is the first name that matches.
func (k *Kernel) first(glob string, list func(string) ([]string, error)) (string, error) {
	if !strings.ContainsAny(glob, "*?[") {
		return glob, nil
	}
	names, err := list(glob)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", errors.New("nothing matches " + glob)
	}
	return names[0], nil
}

// Function reports whether the kernel has a function.
func (k *Kernel) Function(name string) bool {
	if k.open(); k.types == nil || strings.ContainsAny(name, "*?[") {
		return false
	}
	names, err := k.types.Functions(name)
	return err == nil && len(names) > 0
}

func (k *Kernel) function(pl *script.Place) (*btf.Func, error) {
	if k.types == nil {
		return nil, k.unknown()
	}
	name, err := k.first(pl.Name, k.types.Functions)
	if err != nil {
		return nil, err
	}
	module := pl.Target
	if module == "vmlinux" || module == "*" {
		module = ""
	}
	return k.types.Func(name, module)
}

// Retval returns the type of a function's result.
func (k *Kernel) Retval(pl *script.Place) *ctype.Type {
	k.open()
	f, err := k.function(pl)
	if err != nil || f.Result == nil || f.Result.Kind == ctype.Void {
		return nil
	}
	return f.Result
}

// structOf makes a struct of parameters. Each has a register, or 8 bytes.
func structOf(params []btf.Param) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Struct, Name: "args", Size: int64(8 * len(params))}
	fields := make([]ctype.Field, len(params))
	for i, p := range params {
		fields[i] = ctype.Field{Name: p.Name, Type: p.Type, BitOffset: int64(64 * i)}
	}
	t.SetFields(fields)
	return t
}
