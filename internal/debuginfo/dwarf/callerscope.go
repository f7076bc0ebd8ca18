package dwarf

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// callerScope is debuginfo.Scope of the functions that may have called a position's. Its variables are in the registers of
// the position.
type callerScope struct {
	of   *scope
	ret  []debuginfo.Op // the return address, in the registers of the position
	rule *frame.Rule
	list []callerFrame
}

// callerFrame is a call that may have led to the position.
type callerFrame struct {
	ret   uint64
	known bool            // it calls the function, or one that ends by a jump to it
	at    debuginfo.Scope // at the call, in the registers of the caller
	after debuginfo.Scope // behind the call; nil: it is not known
}

func (cs *callerScope) PC() uint64          { return cs.list[0].at.PC() }
func (cs *callerScope) CFA() []debuginfo.Op { return nil }
func (cs *callerScope) HasDebugInfo() bool  { return true }

// FuncName is the function that calls, "" if there are several.
func (cs *callerScope) FuncName() string {
	name := cs.list[0].at.FuncName()
	for _, f := range cs.list {
		if f.at.FuncName() != name {
			return ""
		}
	}
	return name
}

// Lookup finds a variable of the caller.
func (cs *callerScope) Lookup(name string) (*debuginfo.Variable, error) {
	return cs.variable(name, func(s debuginfo.Scope) (*debuginfo.Variable, error) { return s.Lookup(name) })
}

// LookupIn finds function::name, of a caller, and 'file.c'::name.
func (cs *callerScope) LookupIn(where, name string) (*debuginfo.Variable, error) {
	if only := cs.only(where); only != nil {
		return only.Lookup(name)
	}
	return cs.variable(name, func(s debuginfo.Scope) (*debuginfo.Variable, error) { return s.LookupIn(where, name) })
}

// only are the frames of that function; nil: there are none.
func (cs *callerScope) only(function string) *callerScope {
	out := *cs
	out.list = nil
	for _, f := range cs.list {
		if inner, ok := f.at.(*callerScope); ok {
			if inner = inner.only(function); inner == nil {
				continue
			}
			f.at = inner
		} else if f.at.FuncName() != function {
			continue
		}
		out.list = append(out.list, f)
	}
	if len(out.list) == 0 {
		return nil
	}
	return &out
}

// anyKnown reports whether a call is known to lead here.
func (cs *callerScope) anyKnown() bool {
	return slices.ContainsFunc(cs.list, func(f callerFrame) bool { return f.known })
}

func (cs *callerScope) variable(name string, look func(debuginfo.Scope) (*debuginfo.Variable, error)) (*debuginfo.Variable, error) {
	var list []callerVariable
	var why error
	for i := range cs.list {
		f := &cs.list[i]
		v, err := look(f.at)
		if err != nil {
			if why == nil {
				why = err
			}
			continue
		}
		c := callerVariable{f: f, v: v}
		if f.after != nil {
			c.after, _ = look(f.after)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, why
	}
	return cs.joined(name, list)
}

// Resolve implements debuginfo.Resolver.
func (cs *callerScope) Resolve(name string, types bool) (*debuginfo.Entity, error) {
	if i := strings.LastIndex(name, "::"); i > 0 && !types {
		if only := cs.only(name[:i]); only != nil {
			return only.Resolve(name[i+2:], false)
		}
	}
	var first *debuginfo.Entity
	var why error
	for _, f := range cs.list {
		e, err := debuginfo.Resolve(f.at, name, types)
		switch {
		case err != nil:
			if why == nil {
				why = err
			}
			continue
		case first == nil:
			first = e
		}
		if e.Var == nil && !sameMeaning(first, e) {
			return nil, &debuginfo.AmbiguousError{Name: name, Candidates: cs.functions()}
		}
	}
	if first == nil {
		return nil, why
	}
	if first.Var == nil {
		return first, nil
	}
	v, err := cs.variable(name, func(s debuginfo.Scope) (*debuginfo.Variable, error) {
		e, err := debuginfo.Resolve(s, name, false)
		if err == nil && e.Var == nil {
			err = &debuginfo.NotFoundError{What: "variable", Name: name}
		}
		if err != nil {
			return nil, err
		}
		return e.Var, nil
	})
	return &debuginfo.Entity{Var: v}, err
}

// sameMeaning reports whether two entities that are no variables are the same.
func sameMeaning(a, b *debuginfo.Entity) bool {
	switch {
	case a.Enum != nil && b.Enum != nil:
		return a.Value == b.Value && sameType(a.Enum, b.Enum, mostTypeDepth)
	case a.Type != nil && b.Type != nil:
		return sameType(a.Type, b.Type, mostTypeDepth)
	}
	return a.Class != nil && b.Class != nil && ctype.SameClass(a.Class, b.Class)
}

// functions are the names of the functions that call.
func (cs *callerScope) functions() (names []string) {
	for _, f := range cs.list {
		for _, n := range f.functions() {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func (f *callerFrame) functions() []string {
	if inner, ok := f.at.(*callerScope); ok {
		return inner.functions()
	}
	return []string{f.at.FuncName()}
}

// Member implements debuginfo.Resolver.
func (cs *callerScope) Member(class *ctype.Type, name string) (*debuginfo.Entity, error) {
	return debuginfo.Member(cs.list[0].at, class, name)
}

// Type finds a type as the first call does that has it.
func (cs *callerScope) Type(kind ctype.Kind, name string) (t *ctype.Type, err error) {
	for _, f := range cs.list {
		if t, err = f.at.Type(kind, name); err == nil {
			break
		}
	}
	return t, err
}

// Enumerator finds an enumeration constant as the first call does that has it.
func (cs *callerScope) Enumerator(name string) (t *ctype.Type, value int64, ok bool) {
	for _, f := range cs.list {
		if t, value, ok = f.at.Enumerator(name); ok {
			break
		}
	}
	return t, value, ok
}

// Args lists the parameters of the functions that call.
func (cs *callerScope) Args() []*debuginfo.Variable { return cs.all(debuginfo.Scope.Args) }

// Locals lists the local variables of the functions that call.
func (cs *callerScope) Locals() []*debuginfo.Variable { return cs.all(debuginfo.Scope.Locals) }

// mostPossible bounds the calls that are only possible, if their variables are listed beside those of others.
const mostPossible = 64

// all lists the variables of all calls that may lead here, or if these are many, of those that are known to. Variables of one name and
// type are one.
func (cs *callerScope) all(list func(debuginfo.Scope) []*debuginfo.Variable) (out []*debuginfo.Variable) {
	var groups [][]callerVariable
	onlyKnown := cs.anyKnown() && len(cs.list) > mostPossible
	for i := range cs.list {
		f := &cs.list[i]
		if onlyKnown && !f.known {
			continue
		}
		var after []*debuginfo.Variable
		if f.after != nil {
			after = list(f.after)
		}
		for _, v := range list(f.at) {
			c := callerVariable{f: f, v: v}
			for _, a := range after {
				if a.Name == v.Name && a.Line == v.Line {
					c.after = a
				}
			}
			n := slices.IndexFunc(groups, func(g []callerVariable) bool {
				return g[0].v.Name == v.Name && sameType(g[0].v.Type, v.Type, mostTypeDepth)
			})
			if n < 0 {
				n, groups = len(groups), append(groups, nil)
			}
			groups[n] = append(groups[n], c)
		}
	}
	for i, g := range groups {
		v, err := cs.joined(g[0].v.Name, g)
		if err != nil {
			continue
		}
		for k, other := range groups {
			if k != i && other[0].v.Name == g[0].v.Name {
				v.Name = g[0].f.functions()[0] + "::" + g[0].v.Name
			}
		}
		out = append(out, v)
	}
	return out
}
