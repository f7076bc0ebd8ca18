package btf

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// Param is a parameter of a function or tracepoint.
type Param struct {
	Name string // "arg0", ... if the name is unknown
	Type *ctype.Type
}

// Func is a function of the kernel or a module.
type Func struct {
	Name   string
	Module string      // "" for the kernel's own
	ID     raw.ID      // of its FUNC, in the BTF of Module
	Type   *ctype.Type // a Func
	Params []Param     // without the mark of further ones
	Result *ctype.Type // Void for none
	unit   *unit
}

// Func finds a function by its name; module "" means the kernel, then any module. The error is a
// *debuginfo.NotFoundError, also if several functions of that name have different parameters, because BTF does
// not relate them to addresses.
func (k *Kernel) Func(name, module string) (*Func, error) {
	for u := range k.unitsFor(name, module) {
		found := u.named(name, raw.Func)
		if len(found) == 0 {
			continue
		}
		for i := range found[1:] {
			if !sameParams(&found[0], &found[i+1]) {
				return nil, &debuginfo.NotFoundError{
					What: "function", Name: name,
					Hint: "there are several of that name, with different parameters; arguments can be read as $rdi, $rsi, ...",
				}
			}
		}
		return k.function(u, found[0])
	}
	e := k.notFound("function", "", name, raw.Func)
	if base, suffix, ok := strings.Cut(name, "."); ok && base != "" {
		e.Explain = nil
		e.Hint = fmt.Sprintf("the compiler changed it (.%s), so its parameters are not where those of %s are", suffix, base)
	}
	return nil, e
}

func (k *Kernel) function(u *unit, fn raw.Type) (*Func, error) {
	proto := fn.Ref()
	if proto.Kind != raw.FuncProto {
		return nil, &debuginfo.NotFoundError{What: "function", Name: fn.Name(), Hint: "its type is malformed"}
	}
	t := k.typeOf(proto)
	params, _ := parameters(&proto)
	out := &Func{Name: fn.Name(), Module: u.name, ID: fn.ID, Type: t, Result: t.Elem, unit: u}
	for i, p := range params {
		out.Params = append(out.Params, Param{paramName(p.Name, i), t.Params[i]})
	}
	return out, nil
}

func paramName(name string, i int) string {
	if name == "" {
		return "arg" + strconv.Itoa(i)
	}
	return name
}

// sameParams compares names, and types by their identity: the kernel's BTF has each once.
func sameParams(a, b *raw.Type) bool {
	p, q := a.Ref(), b.Ref()
	if p.Kind != raw.FuncProto || q.Kind != raw.FuncProto {
		return false
	}
	r, s := p.Ref(), q.Ref()
	return r.Same(&s) && slices.Equal(p.Params(), q.Params())
}

// unitsFor yields the units that may describe a function, the likeliest first. The symbols have the module;
// without them every module is searched.
func (k *Kernel) unitsFor(name, module string) iter.Seq[*unit] {
	return func(yield func(*unit) bool) {
		if module != "" && module != "vmlinux" {
			if u := k.module(module); u != nil {
				yield(u)
			}
			return
		}
		if !yield(k.base) || module == "vmlinux" || len(k.modules) == 0 {
			return
		}
		others := k.modules
		if t := k.symbols(); t != nil {
			others = nil
			for _, s := range t.Lookup(name) {
				if u := k.module(s.Module); s.Module != "" && u != nil {
					others = append(others, u)
				}
			}
		}
		for _, u := range others {
			if !yield(u) {
				return
			}
		}
	}
}

// Functions lists the functions of the kernel that BTF describes and whose names
// match a pattern of path.Match, sorted. The error is path.ErrBadPattern or says
// why the BTF cannot be read.
func (k *Kernel) Functions(glob string) ([]string, error) {
	return k.list([]*unit{k.base}, "", glob, raw.Func)
}

// list returns the names of some kinds that begin with prefix and whose rest
// matches a pattern, without the prefix.
func (k *Kernel) list(units []*unit, prefix, glob string, kinds ...raw.Kind) ([]string, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", glob, err)
	}
	var out []string
	for _, u := range units {
		x, err := u.open()
		if err != nil {
			return nil, fmt.Errorf("read the type information of %q: %w", u.name, err)
		}
		out = append(out, x.List(func(s string) bool {
			rest, ok := strings.CutPrefix(s, prefix)
			if !ok {
				return false
			}
			ok, _ = path.Match(glob, rest)
			return ok
		}, kinds...)...)
	}
	for i := range out {
		out[i] = out[i][len(prefix):]
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
