package dwarf

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// Variables of the module as code of other modules sees them: by their symbols, and as GDB finds them by a bare name.

// ObjectAt describes the module's variable at an address, or at an offset in its thread-local block (tls), which has
// the symbol name; nil: no debug information does. The object may have other symbols, by one of which it is described:
// libc's environ is __environ there.
func (ss *scopes) ObjectAt(name string, value uint64, tls bool) (v *debuginfo.Variable) {
	defer ss.guard(nil)()
	names := []string{name}
	if !tls {
		ss.syms.Objects(func(s elf.Symbol) {
			if s.Value == value && !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		})
	}
	for _, n := range names {
		ss.eachObject(n, func(o *debuginfo.Variable) {
			if at, thread, ok := o.Loc.Object(); ok && v == nil && at == value && thread == tls {
				v = o
			}
		})
		if v != nil {
			return v
		}
	}
	return nil
}

// Objects are the module's variables at file level that have that name and a place, each place once: those with external
// linkage, and if there are none the others.
func (ss *scopes) Objects(name string) (list []*debuginfo.Variable) {
	defer ss.guard(nil)()
	var static []*debuginfo.Variable
	ss.eachObject(name, func(o *debuginfo.Variable) {
		to := &static
		if o.Kind == debuginfo.Global {
			to = &list
		}
		same := func(x *debuginfo.Variable) bool { return slices.Equal(x.Loc.Pieces[0].Expr, o.Loc.Pieces[0].Expr) }
		if !slices.ContainsFunc(*to, same) {
			*to = append(*to, o)
		}
	})
	if len(list) == 0 {
		return static
	}
	return list
}

func (ss *scopes) eachObject(name string, visit func(*debuginfo.Variable)) {
	if ss.d == nil {
		return
	}
	ss.names().find(name, isVarTag, func(d die) bool {
		if _, inFunction := d.enclosing(tagSubprogram); inFunction || !d.fixed() || len(d.context().names()) > 0 {
			return true
		}
		o := newScope(&position{m: ss, u: d.u}).variable(d)
		if _, ok := d.deep(atLocation); ok && len(o.Loc.Pieces) == 1 && o.Loc.Pieces[0].Kind == debuginfo.InMemory {
			if o.Kind = debuginfo.Static; d.deepFlag(atExternal) {
				o.Kind = debuginfo.Global
			}
			visit(o)
		}
		return true
	})
}

// standards are objects of libc whose types POSIX and glibc's documentation say: libc has debug information on few machines.
var standards = map[string]*ctype.Type{
	"errno": ctype.IntT, "optind": ctype.IntT, "opterr": ctype.IntT, "optopt": ctype.IntT,
	"optarg": ctype.PointerTo(ctype.CharT), "program_invocation_name": ctype.PointerTo(ctype.CharT),
	"program_invocation_short_name": ctype.PointerTo(ctype.CharT), "environ": ctype.PointerTo(ctype.PointerTo(ctype.CharT)),
}

// Standard is a variable of libc without a place, by the name and size of its symbol; nil: it is none of those whose types are known.
func Standard(name string, size int64) *debuginfo.Variable {
	if t := standards[name]; t != nil && t.Size == size {
		return &debuginfo.Variable{Name: name, Type: t, Kind: debuginfo.Global}
	}
	return nil
}
