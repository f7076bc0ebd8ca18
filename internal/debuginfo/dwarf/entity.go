package dwarf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// entity converts a found entry to the result for the caller.
func (r *search) entity(name string, list []meaning) (*debuginfo.Entity, error) {
	s := r.s
	if len(list) == 0 {
		return nil, s.notFound("variable", name, s.visible())
	}
	m, err := r.one(name, list)
	if err != nil {
		return nil, err
	}
	switch {
	case m.class != nil:
		return &debuginfo.Entity{Class: m.class, Found: m.found}, nil
	case m.at != nil:
		v := s.variable(m.d)
		if v.Loc = *m.at; v.Count != nil {
			v.Loc = debuginfo.Location{Unavailable: "the number of its elements is in the frame of another function"}
		}
		return &debuginfo.Entity{Var: v}, nil
	case m.why != "": // in sizeof it can be used
		v := s.variable(m.d)
		v.Loc = debuginfo.Location{Unavailable: m.why}
		return &debuginfo.Entity{Var: v}, nil
	}
	switch tag := m.d.ab.tag; {
	case tag == tagNamespace || tag == tagModule:
		return nil, &debuginfo.MisusedError{Name: name, Why: quote(name) + " is a namespace"}
	case isTypeTag(tag):
		return &debuginfo.Entity{Type: r.typeOf(m)}, nil
	case tag == tagEnumerator:
		enum, ok := m.d.enumeration()
		if !ok {
			return nil, s.notFound("variable", name, nil)
		}
		v, _ := m.d.attr(atConstValue)
		return &debuginfo.Entity{Enum: s.m.convert(enum), Value: v.Int()}, nil
	case tag == tagSubprogram:
		v, err := s.code(name, m.d, list)
		return &debuginfo.Entity{Var: v}, err
	case m.block != nil:
		if m.d.deepFlag(atDeclaration) && !m.d.located() { // extern int x; in a block
			return &debuginfo.Entity{Var: s.object(m.d)}, nil
		}
		return &debuginfo.Entity{Var: s.local(m.d, m.block)}, nil
	}
	return &debuginfo.Entity{Var: s.object(m.d)}, nil
}

// typeOf is the type that was found.
func (r *search) typeOf(m meaning) *ctype.Type {
	if m.d.ab.tag == tagTemplateType {
		return r.s.m.typeOf(m.d)
	}
	return r.s.m.convert(m.d)
}

// enumeration is the enumeration of a constant.
func (d die) enumeration() (die, bool) {
	if spans := d.context().spans(); len(spans) > 0 {
		if e := spans[len(spans)-1].d; e.ab.tag == tagEnumerationType {
			return e, true
		}
	}
	return d.enclosing(tagEnumerationType)
}

// object makes the Variable of an entry outside of functions, or of a class's
// static member: where its definition is.
func (fi *finder) object(d die) *debuginfo.Variable {
	if d.located() || d.ab.tag == tagTemplateValue {
		return fi.fileLevel(d)
	}
	if def, ok := fi.definitionOf(d); ok {
		return fi.fileLevel(def)
	}
	if d.flag(atDeclaration) || d.ab.tag == tagMember {
		return fi.bySymbol(d)
	}
	if v := fi.alias(d); v != nil {
		return v
	}
	return fi.fileLevel(d) // optimised out
}

// definitionOf finds the located entry of a variable that d declares: in the unit,
// then in others.
func (fi *finder) definitionOf(d die) (def die, ok bool) {
	name := d.name()
	d = d.declaration()
	own := func(e die) bool { return e.ab.tag == tagVariable && e.located() && e.declaration().key() == d.key() }
	if def, ok = d.u.lookup(name, own); ok {
		return def, true
	}
	full := d.context().qualified()
	unnamed := strings.Contains(full, anonymousName)
	if unnamed {
		def, ok = d.u.lookup(name, func(e die) bool { return e.ab.tag == tagVariable && e.located() && e.context().qualified() == full })
	}
	if !ok {
		fi.m.names().find(name, isVarTag, func(e die) bool {
			if e.located() && (e.declaration().key() == d.key() || !unnamed && e.deepFlag(atExternal) && e.context().qualified() == full) {
				def, ok = e, true
			}
			return !ok
		})
	}
	return def, ok
}

// code is a function's name as a value: its entry. Overloads are ambiguous.
func (fi *finder) code(name string, d die, list []meaning) (*debuginfo.Variable, error) {
	linkage := d.linkage()
	for _, m := range list {
		if l := m.d.linkage(); m.d.ab.tag == tagSubprogram && l != linkage {
			return nil, &debuginfo.MisusedError{Name: name, Why: quote(name) + " is overloaded: which function is meant is not known"}
		}
	}
	v := &debuginfo.Variable{Name: name, Type: fi.m.convert(d), Kind: debuginfo.Global}
	v.File, v.Line = d.declared()
	at := func(vaddr uint64) *debuginfo.Variable {
		fi.m.codeAt(v, vaddr)
		return v
	}
	decl := d.declaration().key()
	for _, m := range append(list, meaning{d: d}) {
		if f := m.d.u.functions().byDie(m.d.off); f != nil {
			return at(f.entry()), nil
		}
	}
	var hit *fn
	fi.m.names().find(d.name(), isFuncTag, func(e die) bool {
		if e.declaration().key() == decl || linkage != "" && e.linkage() == linkage {
			hit = e.u.functions().byDie(e.off)
		}
		return hit == nil
	})
	if hit != nil {
		return at(hit.entry()), nil
	}
	if linkage == "" {
		linkage = d.name()
	}
	for _, sym := range fi.m.lookupSymbols(linkage) {
		if !sym.Object && sym.Value != 0 {
			return at(sym.Value), nil
		}
	}
	v.Loc.Unavailable = "the function has no code of its own in this module"
	return v, nil
}

// chosenAtStart: the address of an indirect function is that of the code which its resolver chooses.
const chosenAtStart = "it is an indirect function: the program's start decides which code its name means"

// codeAt places a function as a value.
func (ob *object) codeAt(v *debuginfo.Variable, vaddr uint64) {
	v.Loc.Pieces = []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: []debuginfo.Op{{Code: debuginfo.OpAddr, Arg: int64(vaddr)}}}}
	ob.elsewhere(v)
	if ob.isIFunc(vaddr) && len(v.Loc.Pieces[0].Expr) == 1 {
		v.Loc = debuginfo.Location{Unavailable: chosenAtStart}
	}
}
