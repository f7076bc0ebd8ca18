package dwarf

import (
	"slices"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
)

// names at file level: of the unit itself, of the partial units it imports, then
// of the whole program.

// top maps the unit's top-level names to their entries. Namespaces and classes
// are entered; names are kept without their scopes.
func (u *unit) top() map[string][]uint64 {
	u = u.whole()
	u.topOnce.Do(func() {
		u.tops = map[string][]uint64{}
		root, ok := u.rootDie()
		if !ok {
			return
		}
		root.walk(func(e die, _ int) bool {
			switch e.ab.tag {
			case tagVariable, tagSubprogram, tagTypedef, tagBaseType, tagEnumerator, tagUnspecifiedType, tagTemplateAlias:
				u.note(string(e.nameBytes()), e)
			case tagEnumerationType, tagNamespace, tagModule:
				u.note(string(e.nameBytes()), e)
				return true
			case tagStructType, tagClassType, tagUnionType, tagInterfaceType:
				u.note(string(e.nameBytes()), e)
				return !u.isC()
			case tagImportedUnit:
				u.note(importKey, e)
			case tagImportedModule:
				u.note(usingKey, e)
			case tagImportedDecl:
				if t, ok := e.imported(); ok {
					name := e.name()
					if name == "" {
						name = t.name()
					}
					u.note(name, e)
				}
			}
			return false
		})
	})
	return u.tops
}

// importKey and usingKey are the entries of top that list DW_TAG_imported_unit
// and DW_TAG_imported_module.
const (
	importKey = "\x00import"
	usingKey  = "\x00using"
)

// note adds an entry under its name; the specialisations of a template also under
// its bare name and "<".
func (u *unit) note(name string, e die) {
	if name == "" {
		return
	}
	u.tops[name] = append(u.tops[name], e.off)
	if bare := index.Bare([]byte(name)); len(bare) < len(name) {
		u.tops[string(bare)+"<"] = append(u.tops[string(bare)+"<"], e.off)
	}
}

// imported is what DW_AT_import of a declaration leads to.
func (d die) imported() (die, bool) {
	for n := 0; n < 8 && (d.ab.tag == tagImportedDecl || d.ab.tag == tagImportedModule); n++ {
		t, ok := d.ref(atImport)
		if !ok {
			return die{}, false
		}
		d = t
	}
	return d, d.ab.tag != tagImportedDecl
}

// lookup visits the entries of that name in the unit and what it reaches.
func (u *unit) lookup(name string, want func(die) bool) (die, bool) {
	for _, v := range u.reach() {
		for _, off := range v.top()[name] {
			if d, ok := v.dieAt(off); ok && want(d) {
				return d, true
			}
		}
	}
	return die{}, false
}

// global finds a variable or function at file level: a definition in the unit,
// then in the program, then a declaration with a symbol.
func (s *scope) global(name string) *debuginfo.Variable {
	if s.u == nil {
		return nil
	}
	parts := splitName(name)
	last, scopes := parts[len(parts)-1], parts[:len(parts)-1]
	defined := func(d die) bool {
		return d.ab.tag == tagVariable && d.located() && d.inScopes(scopes)
	}
	if d, ok := s.u.lookup(last, defined); ok {
		return s.fileLevel(d)
	}
	// A definition without a location was optimised out: nothing else is meant.
	isOut := func(d die) bool {
		return d.ab.tag == tagVariable && !d.deepFlag(atDeclaration) && d.inScopes(scopes)
	}
	if d, ok := s.u.lookup(last, isOut); ok {
		return s.fileLevel(d)
	}
	decl, declared := s.u.lookup(last, func(d die) bool { return d.ab.tag == tagVariable && d.inScopes(scopes) })
	if d, ok := s.elsewhere(last, scopes); ok {
		return s.fileLevel(d)
	}
	if !declared && len(scopes) == 0 { // the linker's own names, as the kernel's jiffies
		s.m.names().find(last, isDeclaredTag, func(d die) bool {
			decl, declared = d, s.untyped(last)
			return false
		})
	}
	if declared {
		return s.bySymbol(decl)
	}
	if v := s.functionValue(last, scopes); v != nil {
		return v
	}
	return s.vanished(last, scopes)
}

// vanished finds a global that its unit defines without a location: it was
// optimised out of the whole program.
func (s *scope) vanished(name string, scopes []string) (v *debuginfo.Variable) {
	s.m.names().find(name, isVarTag, func(d die) bool {
		if d.deepFlag(atExternal) && d.inScopes(scopes) {
			v = s.fileLevel(d)
		}
		return v == nil
	})
	return v
}

// elsewhere finds the definition of a global in other units; a static one only
// when it is the only one of that name, those that were optimised out included.
func (s *scope) elsewhere(name string, scopes []string) (best die, ok bool) {
	statics := map[dieKey]bool{}
	s.m.names().find(name, isVarTag, func(d die) bool {
		if !d.inScopes(scopes) {
			return true
		}
		if d.deepFlag(atExternal) {
			if d.located() {
				best, ok = d, true
			}
			return !ok
		}
		if d.located() {
			best = d
		}
		statics[d.source().key()] = true
		return true
	})
	return best, ok || len(statics) == 1 && best.ab != nil
}

// fileLevel makes the Variable of a file-level entry.
func (s *scope) fileLevel(d die) *debuginfo.Variable {
	if e, ok := s.m.emitted(d, die{}); ok {
		d = e
	}
	v := s.variable(d)
	v.Kind = debuginfo.Static
	if d.deepFlag(atExternal) {
		v.Kind = debuginfo.Global
	}
	s.m.perCPU(v)
	s.m.elsewhere(v)
	return v
}

// bySymbol places a declared variable that no unit defines by its symbol, as
// `stdout` in an executable.
func (s *scope) bySymbol(d die) *debuginfo.Variable {
	v := s.variable(d)
	v.Kind = debuginfo.Global
	name := d.linkage()
	if name == "" {
		name = d.name()
	}
	for _, sym := range s.m.lookupSymbols(name) {
		if sym.Object {
			v.Loc = debuginfo.Location{Pieces: []debuginfo.Piece{{
				Kind: debuginfo.InMemory,
				Expr: []debuginfo.Op{{Code: debuginfo.OpAddr, Arg: int64(sym.Value)}},
			}}}
			s.m.perCPU(v)
			s.m.elsewhere(v)
			return v
		}
	}
	v.Loc = debuginfo.Location{Unavailable: "it is only declared here and defined in another module, or not at all"}
	return v
}

// functionValue is a function's name used as a value: its entry address.
func (s *scope) functionValue(name string, scopes []string) *debuginfo.Variable {
	var hit *fn
	find := func(d die) bool {
		if d.ab.tag == tagSubprogram && hit == nil && d.inScopes(scopes) {
			hit = d.u.functions().byDie(d.off)
		}
		return hit != nil
	}
	s.u.lookup(name, find)
	if hit == nil {
		s.m.names().find(name, isFuncTag, func(d die) bool { return !find(d) })
	}
	if hit == nil {
		return nil
	}
	v := &debuginfo.Variable{Name: name, Type: s.m.convert(hit.d), Kind: debuginfo.Global}
	v.Loc.Pieces = []debuginfo.Piece{{
		Kind: debuginfo.InMemory,
		Expr: []debuginfo.Op{{Code: debuginfo.OpAddr, Arg: int64(hit.entry())}},
	}}
	v.File, v.Line = hit.d.declared()
	return v
}

// inFile finds 'file.c'::name.
func (s *scope) inFile(file, name string) (out *debuginfo.Variable) {
	try := func(u *unit) {
		h := u.head()
		if out != nil || !(line.File{Name: h.name, Full: line.Join(h.compDir, h.name), OK: true}).Matches(file) {
			return
		}
		placed := func(d die) bool { return d.ab.tag == tagVariable && d.located() }
		defined := func(d die) bool { return d.ab.tag == tagVariable && !d.deepFlag(atDeclaration) }
		for _, want := range []func(die) bool{placed, defined} {
			if d, ok := u.lookup(name, want); ok && out == nil {
				out = s.fileLevel(d)
			}
		}
	}
	for _, u := range s.m.names().withSource(file) {
		try(u)
	}
	if out == nil { // a file without lines
		s.m.eachUnit(try)
	}
	return out
}

// inFunction finds function::name of a function that pc is not in. Only
// variables with a fixed address mean anything there.
func (s *scope) inFunction(function, name string) *debuginfo.Variable {
	var trees []*block
	fns, _ := s.m.findFuncs(function, false)
	for _, f := range fns {
		trees = append(trees, f.tree())
	}
	for _, d := range s.m.inlinedOnly(function) {
		b := &block{d: d, function: true}
		b.fill()
		trees = append(trees, b)
	}
	for _, b := range trees {
		if d, ok := b.anywhere(name); ok {
			if e, ok := s.m.emitted(d, b.d); ok {
				d = e
			}
			v := s.variable(d)
			v.Kind = debuginfo.Static
			if !d.fixed() {
				v.Loc = debuginfo.Location{Unavailable: "it is a local variable of " + function + ", which is not the function here"}
			}
			return v
		}
	}
	return nil
}

// inNamespace finds ns::name, and static members Class::name.
func (s *scope) inNamespace(ns, name string) *debuginfo.Variable {
	if d, ok := s.elsewhere(name, splitName(ns)); ok {
		return s.fileLevel(d)
	}
	return nil
}

// visible lists the names that Lookup would find near pc, for suggestions.
func (s *scope) visible() []string {
	var out []string
	for _, b := range s.chain() {
		for _, d := range b.vars {
			out = append(out, d.name())
		}
	}
	if s.u == nil {
		return out
	}
	return append(out, s.u.variableNames()...)
}

// variableNames lists the unit's variables by their bare names.
func (u *unit) variableNames() []string {
	if known, ok := u.typeWords.Load(tagVariable); ok {
		return known.([]string)
	}
	var out []string
	for n, offs := range u.top() {
		if d, ok := u.whole().dieAt(offs[0]); ok && d.ab.tag == tagVariable {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	out = out[:len(out):len(out)]
	u.typeWords.Store(tagVariable, out)
	return out
}

// elsewhereNamed lists the full names of the unit's variables and constants with a
// bare name that means nothing at pc.
func (s *scope) elsewhereNamed(name string) (out []string) {
	if s.u == nil || s.u.isC() {
		return nil
	}
	s.u.lookup(name, func(d die) bool {
		if n := d.qualified(); (d.ab.tag == tagVariable || d.ab.tag == tagEnumerator) && n != name && !slices.Contains(out, n) && !strings.Contains(n, anonymousName) {
			out = append(out, n)
		}
		return len(out) > 3
	})
	return out
}
