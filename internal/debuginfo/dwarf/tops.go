package dwarf

import (
	"slices"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
)

// finder finds what names mean beside the blocks of a function: files, namespaces, types,
// other functions.
type finder struct {
	*position
	*locations
	// directives are the unit's using-directives, once read.
	directives []directive
}

// names at file level: of the unit itself, of the partial units it imports, then
// of the whole program.

// top maps the unit's top-level names to their entries. Namespaces and classes
// are entered; names are kept without their scopes.
func (n *unitNames) top() map[string][]uint64 {
	n = &n.u.whole().unitNames
	n.topOnce.Do(func() {
		n.tops = map[string][]uint64{}
		root, ok := n.u.rootDie()
		if !ok {
			return
		}
		root.walk(func(e die, _ int) bool {
			switch e.ab.tag {
			case tagVariable, tagConstant, tagSubprogram, tagTypedef, tagBaseType, tagEnumerator, tagUnspecifiedType, tagTemplateAlias:
				n.note(string(e.nameBytes()), e)
			case tagEnumerationType, tagNamespace, tagModule:
				n.note(string(e.nameBytes()), e)
				return true
			case tagStructType, tagClassType, tagUnionType, tagInterfaceType:
				n.note(string(e.nameBytes()), e)
				return !n.u.isC()
			case tagImportedUnit:
				n.note(importKey, e)
			case tagImportedModule:
				n.note(usingKey, e)
			case tagImportedDecl:
				if t, ok := e.imported(); ok {
					name := e.name()
					if name == "" {
						name = t.name()
					}
					n.note(name, e)
				}
			}
			return false
		})
	})
	return n.tops
}

// importKey and usingKey are the entries of top that list DW_TAG_imported_unit
// and DW_TAG_imported_module.
const (
	importKey = "\x00import"
	usingKey  = "\x00using"
)

// note adds an entry under its name; the specialisations of a template also under
// its bare name and "<".
func (n *unitNames) note(name string, e die) {
	if name == "" {
		return
	}
	n.tops[name] = append(n.tops[name], e.off)
	if bare := index.Bare([]byte(name)); len(bare) < len(name) {
		n.tops[string(bare)+"<"] = append(n.tops[string(bare)+"<"], e.off)
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

// lookup visits the entries of that name in the unit and the units that it reaches.
func (n *unitNames) lookup(name string, want func(die) bool) (die, bool) {
	for _, v := range n.reach() {
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
func (fi *finder) global(name string) *debuginfo.Variable {
	if fi.u == nil {
		return nil
	}
	parts := splitName(name)
	last, scopes := parts[len(parts)-1], parts[:len(parts)-1]
	defined := func(d die) bool {
		return isModuleName(d) && d.located() && d.context().endIn(scopes)
	}
	if d, ok := fi.u.lookup(last, defined); ok {
		return fi.fileLevel(d)
	}
	// A definition without a location was optimised out: nothing else is meant.
	isOut := func(d die) bool {
		return d.ab.tag == tagVariable && !d.deepFlag(atDeclaration) && d.context().endIn(scopes)
	}
	if d, ok := fi.u.lookup(last, isOut); ok {
		return fi.fileLevel(d)
	}
	decl, declared := fi.u.lookup(last, func(d die) bool { return d.ab.tag == tagVariable && d.context().endIn(scopes) })
	if d, ok := fi.elsewhere(last, scopes); ok {
		return fi.fileLevel(d)
	}
	if !declared && len(scopes) == 0 { // the linker's own names, as the kernel's jiffies
		fi.m.names().find(last, isDeclaredTag, func(d die) bool {
			decl, declared = d, fi.untyped(last)
			return false
		})
	}
	if declared {
		return fi.bySymbol(decl)
	}
	if v := fi.functionValue(last, scopes); v != nil {
		return v
	}
	return fi.vanished(last, scopes)
}

// vanished finds a global that its unit defines without a location: it was
// optimised out of the whole program.
func (fi *finder) vanished(name string, scopes []string) (v *debuginfo.Variable) {
	fi.m.names().find(name, isVarTag, func(d die) bool {
		if d.deepFlag(atExternal) && d.context().endIn(scopes) {
			v = fi.fileLevel(d)
		}
		return v == nil
	})
	return v
}

// elsewhere finds the definition of a global in other units; a static one only
// when it is the only one of that name, those that were optimised out included.
func (fi *finder) elsewhere(name string, scopes []string) (best die, ok bool) {
	statics := map[dieKey]bool{}
	fi.m.names().find(name, isVarTag, func(d die) bool {
		if !d.context().endIn(scopes) {
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
func (fi *finder) fileLevel(d die) *debuginfo.Variable {
	if e, ok := fi.m.emitted(d, die{}); ok {
		d = e
	}
	v := fi.variable(d)
	v.Kind = debuginfo.Static
	if d.deepFlag(atExternal) {
		v.Kind = debuginfo.Global
	}
	fi.m.perCPU(v)
	fi.m.elsewhere(v)
	return v
}

// bySymbol places a declared variable that no unit defines by its symbol, as
// `stdout` in an executable.
func (fi *finder) bySymbol(d die) *debuginfo.Variable {
	v := fi.variable(d)
	v.Kind = debuginfo.Global
	name := d.linkage()
	if name == "" {
		name = d.name()
	}
	for _, sym := range fi.m.lookupSymbols(name) {
		if sym.Object {
			v.Loc = debuginfo.Location{Pieces: []debuginfo.Piece{{
				Kind: debuginfo.InMemory,
				Expr: []debuginfo.Op{{Code: debuginfo.OpAddr, Arg: int64(sym.Value)}},
			}}}
			fi.m.perCPU(v)
			fi.m.elsewhere(v)
			return v
		}
	}
	v.Loc = debuginfo.Location{Unavailable: "it is only declared here and defined in another module, or not at all", Symbol: name}
	return v
}

// alias returns the Variable of an external entry without a location: gcc describes another name of a variable (the attribute alias)
// so. Its place is that of the symbol. nil: no symbol has its size, or one is local, which may be of another file.
func (fi *finder) alias(d die) *debuginfo.Variable {
	if !d.deepFlag(atExternal) {
		return nil
	}
	v := fi.bySymbol(d)
	for _, sym := range fi.m.lookupSymbols(d.name()) {
		if sym.Object && (sym.Local || v.Type == nil || int64(sym.Size) != v.Type.Strip().Size) {
			return nil
		}
	}
	if v.Loc.Pieces == nil {
		return nil
	}
	return v
}

// functionValue is a function's name used as a value: its entry address.
func (fi *finder) functionValue(name string, scopes []string) *debuginfo.Variable {
	var hit *fn
	find := func(d die) bool {
		if d.ab.tag == tagSubprogram && hit == nil && d.context().endIn(scopes) {
			hit = d.u.functions().byDie(d.off)
		}
		return hit != nil
	}
	fi.u.lookup(name, find)
	if hit == nil {
		fi.m.names().find(name, isFuncTag, func(d die) bool { return !find(d) })
	}
	if hit == nil {
		return nil
	}
	v := &debuginfo.Variable{Name: name, Type: fi.m.convert(hit.d), Kind: debuginfo.Global}
	fi.m.codeAt(v, hit.entry())
	v.File, v.Line = hit.d.declared()
	return v
}

// inFile finds 'file.c'::name.
func (fi *finder) inFile(file, name string) (out *debuginfo.Variable) {
	try := func(u *unit) {
		h := u.head()
		if out != nil || !(line.File{Name: h.name, Full: line.Join(h.compDir, h.name), OK: true}).Matches(file) {
			return
		}
		placed := func(d die) bool { return d.ab.tag == tagVariable && d.located() }
		defined := func(d die) bool { return d.ab.tag == tagVariable && !d.deepFlag(atDeclaration) }
		for _, want := range []func(die) bool{placed, defined} {
			if d, ok := u.lookup(name, want); ok && out == nil {
				out = fi.fileLevel(d)
			}
		}
	}
	for _, u := range fi.m.names().withSource(file) {
		try(u)
	}
	if out == nil { // a file without lines
		fi.m.eachUnit(try)
	}
	return out
}

// inFunction finds function::name of a function that pc is not in. Only
// variables with a fixed address mean anything there.
func (fi *finder) inFunction(function, name string) *debuginfo.Variable {
	var trees []*block
	fns, _ := fi.m.findFuncs(function, false)
	for _, f := range fns {
		trees = append(trees, f.tree())
	}
	for _, d := range fi.m.inlinedOnly(function) {
		b := &block{d: d, function: true}
		b.fill()
		trees = append(trees, b)
	}
	for _, b := range trees {
		if d, ok := b.anywhere(name); ok {
			if e, ok := fi.m.emitted(d, b.d); ok {
				d = e
			}
			v := fi.variable(d)
			v.Kind = debuginfo.Static
			if !d.fixed() {
				v.Loc = debuginfo.Location{Unavailable: "it is a local variable of " + function + ", which is not the function here"}
			}
			fi.m.elsewhere(v)
			return v
		}
	}
	return nil
}

// inNamespace finds ns::name, and static members Class::name.
func (fi *finder) inNamespace(ns, name string) *debuginfo.Variable {
	if d, ok := fi.elsewhere(name, splitName(ns)); ok {
		return fi.fileLevel(d)
	}
	return nil
}

// visible lists the names that Lookup would find near pc, for suggestions.
func (fi *finder) visible() []string {
	var out []string
	for _, b := range fi.chain() {
		for _, d := range b.vars {
			name := d.name()
			if fi.u != nil && fi.u.isGo() {
				name = strings.TrimPrefix(name, "&")
			}
			out = append(out, name)
		}
	}
	if fi.u == nil {
		return out
	}
	return append(out, fi.u.variableNames()...)
}

// variableNames lists the unit's variables by their bare names.
func (n *unitNames) variableNames() []string {
	if known, ok := n.typeWords.Load(tagVariable); ok {
		return known.([]string)
	}
	var out []string
	for name, offs := range n.top() {
		if d, ok := n.u.whole().dieAt(offs[0]); ok && d.ab.tag == tagVariable {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	out = out[:len(out):len(out)]
	n.typeWords.Store(tagVariable, out)
	return out
}

// elsewhereNamed lists the full names of the unit's variables and constants with a
// bare name that means nothing at pc.
func (fi *finder) elsewhereNamed(name string) (out []string) {
	if fi.u == nil || fi.u.isC() {
		return nil
	}
	fi.u.lookup(name, func(d die) bool {
		if n := d.context().qualified(); (d.ab.tag == tagVariable || d.ab.tag == tagEnumerator) && n != name && !slices.Contains(out, n) && !strings.Contains(n, anonymousName) {
			out = append(out, n)
		}
		return len(out) > 3
	})
	return out
}

func (fi *finder) untyped(name string) bool {
	for _, sym := range fi.m.lookupSymbols(name) {
		if sym.Object {
			return true
		}
	}
	return false
}
