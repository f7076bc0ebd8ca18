package source

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// At the first instruction of a function, variables are not where debug information says if that is the stack: the
// prologue has not stored them yet. Parameters are then where the calling convention has them (System V psABI 3.2.3).

// ByName means that a variable is read by its name.
const ByName = -1

// Parameter returns how a variable is read at a place: ByName, or as argument word number arg of the calling
// convention. why is not empty if its value is not known there.
func (m *Machine) Parameter(pl *script.Place, name string) (arg int, why string) {
	if pl.Provider.Name != "uprobe" || pl.File != "" || pl.HasAddr || pl.Offset != 0 {
		return ByName, ""
	}
	p := m.program(pl.Target)
	if p == nil {
		return ByName, ""
	}
	arg = ByName
	for i, f := range m.matching(p, pl) {
		a, why := entry(p, f, name)
		switch {
		case why != "":
			return 0, why
		case i > 0 && a != arg:
			return 0, fmt.Sprintf("%s is not the same parameter in all functions that match %s", name, pl.Name)
		}
		arg = a
	}
	return arg, ""
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

// entry is how a variable is read at the first instruction of a function.
func entry(p *dwarf.Module, f *dwarf.Function, name string) (arg int, why string) {
	s, err := p.ScopeAt(f.Lo)
	if err != nil || !s.HasDebugInfo() {
		return ByName, ""
	}
	v, err := s.Lookup(name)
	if err != nil || settled(v) {
		return ByName, "" // an error is reported when it is read
	}
	params := s.Args()
	for i := range params {
		if params[i].Name == name && !shadowed(s, name) {
			return byConvention(p, f, params[:i+1])
		}
	}
	for _, l := range s.Locals() {
		if l.Name == name {
			return 0, name + " has no value yet at the first instruction of " + f.Name + ": place the probe at a line (FILE:LINE)"
		}
	}
	return ByName, "" // a global
}

func shadowed(s debuginfo.Scope, name string) bool {
	for _, l := range s.Locals() {
		if l.Name == name {
			return true
		}
	}
	return false
}

// settled reports whether the place of a variable does not depend on the frame that the prologue makes: registers,
// fixed addresses, constants.
func settled(v *debuginfo.Variable) bool {
	if v.Loc.Unavailable != "" {
		return true
	}
	for _, p := range v.Loc.Pieces {
		if p.Kind != debuginfo.InMemory {
			continue
		}
		for _, op := range p.Expr {
			if op.Code == debuginfo.OpReg {
				return false
			}
		}
	}
	return true
}

// byConvention is the argument word of the last of some parameters of a function in C or C++.
func byConvention(p *dwarf.Module, f *dwarf.Function, params []*debuginfo.Variable) (arg int, why string) {
	name := params[len(params)-1].Name
	unknown := func(format string, args ...any) (int, string) {
		return 0, fmt.Sprintf("where %s is at the first instruction of %s is not known: ", name, f.Name) + fmt.Sprintf(format, args...)
	}
	if !p.SysV(f.Lo) {
		return unknown("its language has a calling convention of its own")
	}
	r := p.Returned(f.Lo)
	if r.Why != "" {
		return unknown("%s", r.Why)
	}
	c := convention{}
	if r.Memory || len(r.Results) == 1 && inMemory(r.Results[0].Type) {
		c.word() // the address of the result
	}
	for _, v := range params[:len(params)-1] {
		if !c.take(v.Type) {
			return unknown("%s before it is an object", v.Name)
		}
	}
	if t := params[len(params)-1].Type.Strip(); !integer(t) {
		return unknown("it is not an integer or a pointer")
	}
	return c.word(), ""
}

// convention counts the argument words that are used.
type convention struct {
	words   int // registers for integers
	stack   int // words on the stack
	vectors int // registers for floating point
}

const (
	integerRegisters = 6
	vectorRegisters  = 8
)

// word takes the next word for an integer; those on the stack follow those in registers.
func (c *convention) word() int {
	if c.words < integerRegisters {
		c.words++
		return c.words - 1
	}
	c.stack++
	return integerRegisters + c.stack - 1
}

// take passes over a parameter. It returns false if it is not certain what the parameter uses.
func (c *convention) take(t *ctype.Type) bool {
	s := t.Strip()
	switch {
	case integer(s):
		c.word()
	case s.Kind == ctype.Float && s.Size <= 8:
		if c.vectors++; c.vectors > vectorRegisters {
			c.stack++
		}
	case s.Kind == ctype.Float && s.Size == 16 && s.Name == "long double":
		if c.stack%2 != 0 {
			c.stack++ // it is aligned to 16 bytes
		}
		c.stack += 2
	default:
		return false
	}
	return true
}

func integer(t *ctype.Type) bool {
	switch t.Kind {
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum:
		return t.Size <= 8
	case ctype.Pointer, ctype.Reference:
		return true
	}
	return false
}

// inMemory reports whether a result is in memory whose address is the first argument.
func inMemory(t *ctype.Type) bool {
	s := t.Strip()
	return (s.Kind == ctype.Struct || s.Kind == ctype.Union || s.Kind == ctype.Array) && s.Size > 16
}
