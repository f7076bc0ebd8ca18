package source

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// Machine is the running kernel and the programs that scripts name. It implements check.Source.
type Machine struct {
	*Kernel
	opt      Options
	programs map[string]*dwarf.Module // by path; nil: it cannot be read
	scopes   map[*script.Place]*found
	each     map[eachKey][]typed
}

// Options are of a Machine.
type Options struct {
	DebugDirs []string // of separate debug files; nil = /usr/lib/debug
	Program   string   // the file of the process of -p, for places that name none
}

// found is the scope at a place, or why there is none.
type found struct {
	scope debuginfo.Scope
	err   error
}

// New returns the running kernel and the programs of its files.
func New(opt Options) *Machine {
	return &Machine{Kernel: Open(), opt: opt, programs: map[string]*dwarf.Module{}, scopes: map[*script.Place]*found{}, each: map[eachKey][]typed{}}
}

// program is the debug information of a file, nil if it cannot be read.
func (m *Machine) program(target string) *dwarf.Module {
	switch {
	case target == "" || strings.Contains(target, "*"):
		target = m.opt.Program
	case !strings.Contains(target, "/"):
		if found, err := exec.LookPath(target); err == nil {
			target = found
		}
	}
	if p, ok := m.programs[target]; ok || target == "" {
		return p
	}
	p, err := dwarf.Open(target, dwarf.Options{DebugDirs: m.opt.DebugDirs, Warn: func(string) {}})
	if err != nil {
		p = nil // attaching reports it
	}
	m.programs[target] = p
	return p
}

// scope is what names mean at a place in a program; for a pattern, at the first that matches.
func (m *Machine) scope(pl *script.Place) (debuginfo.Scope, error) {
	if f := m.scopes[pl]; f != nil {
		return f.scope, f.err
	}
	f := &found{}
	f.scope, f.err = m.find(pl)
	m.scopes[pl] = f
	return f.scope, f.err
}

func (m *Machine) find(pl *script.Place) (debuginfo.Scope, error) {
	p := m.program(pl.Target)
	if p == nil {
		return nil, fmt.Errorf("%s cannot be read", pl.Target)
	}
	addr := pl.Address
	switch {
	case pl.File != "":
		sites, err := lineSites(p, pl)
		if err != nil {
			return nil, err
		}
		if len(sites) == 0 {
			return nil, fmt.Errorf("no code of %s:%d", pl.File, pl.Line)
		}
		addr = sites[0].Addr
	case !pl.HasAddr:
		f := m.function(p, pl)
		if f == nil {
			return nil, fmt.Errorf("there is no function %s", pl.Name)
		}
		addr = f.Lo + pl.Offset
	}
	s, err := p.ScopeAt(addr)
	if err != nil {
		return nil, err
	}
	if !s.HasDebugInfo() {
		return nil, errors.New("there is no debug information of it")
	}
	return s, nil
}

// lineSites are the addresses of a line that are traced.
func lineSites(p *dwarf.Module, pl *script.Place) ([]dwarf.Site, error) {
	sites, err := p.LineSites(pl.File, int(pl.Line))
	return slices.DeleteFunc(sites, func(s dwarf.Site) bool { return s.Begins > 0 }), err
}

// function is the function of a place, by its symbol or its name in the source.
func (m *Machine) function(p *dwarf.Module, pl *script.Place) *dwarf.Function {
	var other *dwarf.Function // without debug information
	for _, f := range p.Functions(pl.Name) {
		switch {
		case len(f.Ranges) == 0:
		case !f.FromSymbols:
			return f
		case other == nil:
			other = f
		}
	}
	if other != nil {
		return other
	}
	if strings.HasPrefix(pl.Name, "_") { // a linkage name
		for _, f := range p.Functions("*") {
			if f.Linkage == pl.Name && len(f.Ranges) > 0 {
				return f
			}
		}
	}
	return nil
}

// userScope is the scope at a place in a program; nil if it is unknown, or the place is of the kernel.
func (m *Machine) userScope(pl *script.Place) debuginfo.Scope {
	if pl == nil || !pl.Provider.User || pl.Provider.Name == "usdt" {
		return nil
	}
	s, err := m.scope(pl)
	if err != nil {
		return nil
	}
	return s
}

// Named returns a type of the program at a place, then of the kernel.
func (m *Machine) Named(pl *script.Place, tag, name string) *ctype.Type {
	if s := m.userScope(pl); s != nil {
		kind, ok := map[string]ctype.Kind{"struct": ctype.Struct, "union": ctype.Union, "enum": ctype.Enum, "": ctype.Typedef}[strings.TrimSpace(tag)]
		if t, err := s.Type(kind, name); ok && err == nil && !t.Incomplete {
			return t
		}
	}
	return m.Kernel.Named(pl, tag, name)
}

// Enumerator returns a constant of the program at a place, then of the kernel.
func (m *Machine) Enumerator(pl *script.Place, name string) (*ctype.Type, int64) {
	if s := m.userScope(pl); s != nil {
		if t, v, ok := s.Enumerator(name); ok {
			return t, v
		}
	}
	return m.Kernel.Enumerator(pl, name)
}

// Variable returns the type of a variable of the program that is visible at a place, without arguments of the
// function where it has returned.
func (m *Machine) Variable(pl *script.Place, name string) *ctype.Type {
	s := m.userScope(pl)
	if s == nil || pl.Provider.Name == "uretprobe" {
		return nil
	}
	v, err := s.Lookup(name)
	if err != nil || v.Type == nil {
		return nil
	}
	return v.Type
}

// Args returns the parameters of the function at a place in a program, or what the kernel's places have.
func (m *Machine) Args(pl *script.Place) (*ctype.Type, error) {
	if pl.Provider.Name != "uprobe" {
		return m.Kernel.Args(pl)
	}
	s, err := m.scope(pl)
	if err != nil {
		return nil, err
	}
	return argsOf(s), nil
}

// Retval returns the type of what the function at a place returns, at the first function of a pattern; nil: nothing, or it is not known.
func (m *Machine) Retval(pl *script.Place) *ctype.Type {
	if pl.Provider.Name != "uretprobe" {
		return m.Kernel.Retval(pl)
	}
	p := m.program(pl.Target)
	if p == nil {
		return nil
	}
	f := m.function(p, pl)
	if f == nil {
		return nil
	}
	return resultAt(p, f.Lo)
}

// resultAt returns the type that the function at an address returns; nil if it returns nothing, or several results.
func resultAt(p *dwarf.Module, addr uint64) *ctype.Type {
	r := p.Returned(addr)
	if len(r.Results) != 1 {
		return nil
	}
	return r.Results[0].Type
}

// argsOf is the struct of the parameters of a function.
func argsOf(s debuginfo.Scope) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Struct, Name: "args"}
	var fields []ctype.Field
	for _, v := range s.Args() {
		if v.Name == "" || v.Type == nil {
			continue
		}
		a := max(min(v.Type.Size, 8), 1)
		t.Size = (t.Size + a - 1) / a * a
		fields = append(fields, ctype.Field{Name: v.Name, Type: v.Type, BitOffset: 8 * t.Size})
		t.Size += v.Type.Size
	}
	t.Size = (t.Size + 7) / 8 * 8
	t.SetFields(fields)
	return t
}

// Close closes the files.
func (m *Machine) Close() {
	for _, p := range m.programs {
		if p != nil {
			_ = p.Close()
		}
	}
}
