package dwarf

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Args lists the parameters of the innermost function, each once: Go lists a result that a deferred function sets twice.
func (s *scope) Args() (out []*debuginfo.Variable) {
	defer s.m.guard(nil)()
	chain := s.chain()
	if len(chain) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, d := range chain[len(chain)-1].vars {
		n := string(d.nameBytes())
		if !d.isParam() || n == "" || s.u.isGo() && seen[n] && n != "_" {
			continue
		}
		seen[n] = true
		out = append(out, s.local(d, nil))
	}
	return out
}

// Locals lists the variables of the innermost function's blocks around pc,
// outermost block first; shadowed ones are left out.
func (s *scope) Locals() (out []*debuginfo.Variable) {
	defer s.m.guard(nil)()
	chain := s.chain()
	seen := map[string]bool{}
	var groups [][]*debuginfo.Variable
	for _, b := range chain {
		var g []*debuginfo.Variable
		names := map[string]bool{}
		for _, d := range b.vars {
			n := string(d.nameBytes())
			if d.isParam() {
				names[n] = true
				continue
			}
			if n == "" || seen[n] || names[n] || d.deepFlag(atDeclaration) && !d.located() {
				continue
			}
			names[n] = true
			v := s.local(d, b)
			if n[0] == '&' && s.u.isGo() {
				if x := n[1:]; names[x] || seen[x] {
					continue
				}
				v = s.byItsAddress(d, v)
				names[v.Name] = true
			}
			g = append(g, v)
		}
		for n := range names {
			seen[n] = true
		}
		groups = append(groups, g)
	}
	for i := len(groups) - 1; i >= 0; i-- {
		out = append(out, groups[i]...)
	}
	return out
}

// Type finds a type by tag or by name.
func (s *scope) Type(kind ctype.Kind, name string) (t *ctype.Type, err error) {
	defer s.m.guard(&err)()
	if s.u != nil && s.u.isCxx() {
		e, err := s.resolve(name, true)
		if err == nil && (kind == ctype.Typedef || e.Type.Strip().Kind == kind) {
			return e.Type, nil
		}
		if _, none := err.(*debuginfo.NotFoundError); err != nil && !none {
			return nil, err
		}
	} else if d, ok, err := s.findType(kind, name); ok {
		return s.m.convert(d), nil
	} else if err != nil {
		return nil, err
	}
	if kind == ctype.Typedef {
		if t := builtinType(name); t != nil {
			return t, nil
		}
	}
	return nil, s.notFound(typeWord(kind), name, s.typeNames(kind))
}

func typeWord(k ctype.Kind) string {
	switch k {
	case ctype.Struct:
		return "struct"
	case ctype.Union:
		return "union"
	case ctype.Enum:
		return "enum"
	}
	return "type"
}

// Enumerator finds an enumeration constant.
func (s *scope) Enumerator(name string) (t *ctype.Type, value int64, ok bool) {
	defer s.m.guard(nil)()
	if s.ruled() {
		if e, err := s.resolve(name, false); err == nil && e.Enum != nil {
			return e.Enum, e.Value, true
		}
		return nil, 0, false
	}
	d, enum, ok := s.findEnumerator(name)
	if !ok {
		return nil, 0, false
	}
	v, _ := d.attr(atConstValue)
	return s.m.convert(enum), v.Int(), true
}

func (s *scope) notFound(what, name string, candidates []string) error {
	e := &debuginfo.NotFoundError{What: what, Name: name, Nearest: s.elsewhereNamed(name)}
	if len(e.Nearest) == 0 {
		e.Nearest = nearest(name, candidates, 5)
	}
	switch {
	case s.u == nil && s.m.d == nil:
		e.Hint = s.m.path + " has no debug information"
	case s.u == nil:
		e.Hint = fmt.Sprintf("there is no debug information for address %#x", s.pc)
	case what == "variable" && s.untyped(name):
		e.Hint = "the program has a symbol of that name, but no debug information for its type"
	}
	return e
}
