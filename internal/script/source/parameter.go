package source

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// Unavailable returns why a variable has no value at the functions of a place, "" if it may have one.
func (m *Machine) Unavailable(pl *script.Place, name string) (why string) {
	if pl.Provider.Name != "uprobe" || pl.File != "" || pl.HasAddr || pl.Offset != 0 {
		return ""
	}
	p := m.program(pl.Target)
	if p == nil {
		return ""
	}
	for _, f := range m.matching(p, pl) {
		if s, err := p.ScopeAt(f.Lo); err == nil {
			if why := noValue(s, f, name); why != "" {
				return why
			}
		}
	}
	return ""
}

// noValue is why a variable has no value at the first instruction of a function.
func noValue(s debuginfo.Scope, f *dwarf.Function, name string) string {
	v, err := s.Lookup(name)
	if err != nil {
		return "" // an error is reported when it is read
	}
	switch v.Loc.Unavailable {
	case dwarf.NotStored, dwarf.NotMoved:
		return "where " + name + " is at the first instruction of " + f.Name + " is not known: " + v.Loc.Unavailable
	case dwarf.NotBegun:
		return name + " has no value yet at the first instruction of " + f.Name + ": place the probe at a line (FILE:LINE)"
	}
	return ""
}

// matching are the functions of a place.
func (m *Machine) matching(p *dwarf.Module, pl *script.Place) []*dwarf.Function {
	if !pl.Wildcard() {
		if f := m.function(p, pl); f != nil {
			return []*dwarf.Function{f}
		}
		return nil
	}
	var out []*dwarf.Function
	for _, f := range p.Functions(pl.Name) {
		if len(f.Ranges) > 0 {
			out = append(out, f)
		}
	}
	return out
}
