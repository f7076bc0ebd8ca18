package source

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// eachKey is a variable, a member of args, or the result of the functions, at the addresses of a place.
type eachKey struct {
	pl     *script.Place
	name   string
	arg    bool
	result bool
}

// typed is a type, and where it is.
type typed struct {
	where string
	t     *ctype.Type
}

// Each calls f with the types that a variable, or a member of args, has at the addresses of a place, with each once.
func (m *Machine) Each(pl *script.Place, name string, arg bool, f func(where string, t *ctype.Type)) {
	m.eachOf(eachKey{pl: pl, name: name, arg: arg}, f)
}

// EachResult is Each for what the functions of a place return.
func (m *Machine) EachResult(pl *script.Place, f func(where string, t *ctype.Type)) {
	m.eachOf(eachKey{pl: pl, result: true}, f)
}

// eachOf looks the types up once: each pass over the script needs them.
func (m *Machine) eachOf(key eachKey, f func(where string, t *ctype.Type)) {
	list, ok := m.each[key]
	if !ok {
		list = m.typesOf(key)
		m.each[key] = list
	}
	for _, e := range list {
		f(e.where, e.t)
	}
}

func (m *Machine) typesOf(key eachKey) (list []typed) {
	pl := key.pl
	seen := map[*ctype.Type]bool{}
	note := func(where string, t *ctype.Type) {
		if t != nil && !seen[t.Strip()] {
			seen[t.Strip()] = true
			list = append(list, typed{where, t})
		}
	}
	switch {
	case key.result:
		m.eachResult(pl, note)
	case pl.Provider.Name == "uprobe":
		m.eachScope(pl, func(where string, s debuginfo.Scope) { note(where, typeIn(s, key.name, key.arg)) })
	case key.arg && pl.Provider.Name == "tracepoint" && pl.Wildcard():
		m.eachRecord(pl, func(where string, t *ctype.Type) {
			f, _, _ := t.CMember(key.name)
			note(where, f.Type)
		})
	}
	return list
}

// eachResult calls f with the type of what each function of a place returns, nil where it returns nothing.
func (m *Machine) eachResult(pl *script.Place, f func(where string, t *ctype.Type)) {
	p := m.program(pl.Target)
	if p == nil || pl.HasAddr || pl.Provider.Name != "uretprobe" {
		return
	}
	for _, fn := range named(p, pl) {
		f(fn.Name, resultAt(p, fn.Lo))
	}
}

// typeIn returns the type of a variable or of a member of args; nil if the scope has none.
func typeIn(s debuginfo.Scope, name string, arg bool) *ctype.Type {
	if arg {
		for _, v := range s.Args() {
			if v.Name == name {
				return v.Type
			}
		}
		return nil
	}
	v, err := s.Lookup(name)
	if err != nil {
		return nil
	}
	return v.Type
}

// eachScope calls f with what names mean at each address of a place.
func (m *Machine) eachScope(pl *script.Place, f func(where string, s debuginfo.Scope)) {
	p := m.program(pl.Target)
	if p == nil || pl.HasAddr {
		return
	}
	at := func(where string, addr uint64) {
		if s, err := p.ScopeAt(addr); err == nil && s.HasDebugInfo() {
			f(where, s)
		}
	}
	if pl.File != "" {
		sites, _ := lineSites(p, pl)
		for _, s := range sites {
			at(fmt.Sprintf("%s:%d (%#x)", pl.File, pl.Line, s.Addr), s.Addr)
		}
		return
	}
	for _, fn := range named(p, pl) {
		at(fn.Name, fn.Lo+pl.Offset)
	}
}

// named are the functions that a place names and that have debug information.
func named(p *dwarf.Module, pl *script.Place) (out []*dwarf.Function) {
	for _, f := range p.Functions(pl.Name) {
		if len(f.Ranges) > 0 && !f.FromSymbols {
			out = append(out, f)
		}
	}
	return out
}

// eachRecord calls f with the records of the tracepoints that a pattern means.
func (k *Kernel) eachRecord(pl *script.Place, f func(where string, t *ctype.Type)) {
	if k.open(); k.fs == nil {
		return
	}
	names, _ := k.fs.Match(pl.Target, pl.Name)
	for _, n := range names {
		if e, err := k.fs.Event(n.System, n.Event); err == nil {
			f("tracepoint:"+n.System+":"+n.Event, k.enumerated(e.Record()))
		}
	}
}
