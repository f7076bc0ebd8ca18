package dwarf

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
)

// Namespaces: C++ basic.lookup.unqual, namespace.udir, namespace.qual.

// directive is a using-directive: namespace target is used in namespace at.
type directive struct{ at, target []string }

// blockDirectives are those among a block's own.
func (fi *finder) blockDirectives(b *block) (out []directive) {
	for _, e := range b.imports {
		if e.ab.tag != tagImportedModule {
			continue
		}
		if t, ok := e.imported(); ok {
			out = append(out, directive{target: t.context().path()})
		}
	}
	return out
}

// path is that of a namespace: its scopes and its name.
func (d declContext) path() []string { return append(names(d.spans()), d.last()) }

func (d declContext) last() string {
	if n := d.name(); n != "" {
		return n
	}
	return anonymousName
}

func names(spans []*scopeSpan) []string {
	out := make([]string, 0, len(spans)+1)
	for _, sp := range spans {
		out = append(out, sp.name)
	}
	return out
}

// unitDirectives lists the using-directives of the unit's namespaces.
func (fi *finder) unitDirectives() []directive {
	if fi.directives == nil {
		fi.directives = []directive{}
		fi.u.lookup(usingKey, func(e die) bool {
			if t, ok := e.imported(); ok {
				fi.directives = append(fi.directives, directive{names(e.context().spans()), t.context().path()})
			}
			return false
		})
		for _, sp := range fi.u.whole().scopeSpans() { // inline and unnamed ones are used where they are
			if sp.d.ab.tag == tagNamespace && (sp.name == anonymousName || sp.d.flag(atExportSymbols)) {
				fi.directives = append(fi.directives, directive{names(sp.d.context().spans()), sp.d.context().path()})
			}
		}
	}
	return fi.directives
}

// throughSpaces looks a name up in a namespace and those around it. active are
// the using-directives that count from the start.
func (r *search) throughSpaces(path []string, name string, active []directive) ([]meaning, error) {
	active = r.closure(slices.Clone(active))
	at := -1
	var list []meaning
	for n := len(path); n >= 0 && at < 0; n-- {
		level := path[:n]
		active = r.closure(append(active, r.directivesIn(level, level)...))
		list = r.inUnit(level, name, allSpaces)
		for _, d := range active {
			if slices.Equal(common(d.at, d.target), level) {
				list = append(list, r.inUnit(d.target, name, allSpaces)...)
			}
		}
		if len(list) > 0 {
			at = n
		}
	}
	if at < 0 && len(r.late) > 0 {
		return nil, nil // rather a local name of this text than one of another unit
	}
	for n := len(path); n > at; n-- {
		found := r.elsewhere(path[:n], name)
		for _, d := range active {
			if len(found) == 0 && at < 0 && slices.Equal(common(d.at, d.target), path[:n]) {
				found = r.elsewhere(d.target, name)
			}
		}
		if len(found) == 0 {
			continue
		}
		if at < 0 {
			return found, nil
		}
		if r.want == anything && !isTypeTag(found[0].d.ab.tag) && !sameEntity(found[0].d, list[0].d) {
			// The compiler used one or the other: the unit may have used the inner one and, as clang does,
			// not recorded it.
			return append(list, found...), nil
		}
		break
	}
	if at < 0 {
		return r.lastResort(name, nil), nil
	}
	return list, nil
}

// directivesIn lists the directives in a namespace (and the inline ones in it),
// as if they were in namespace at.
func (r *search) directivesIn(space, at []string) (out []directive) {
	for _, d := range r.s.unitDirectives() {
		if slices.Equal(d.at, space) {
			out = append(out, directive{at, d.target})
		}
	}
	return out
}

// closure adds the directives of the namespaces that are used: they are transitive.
func (r *search) closure(list []directive) []directive {
	for i := 0; i < len(list) && len(list) < 1000; i++ {
		for _, d := range r.directivesIn(list[i].target, list[i].at) {
			if !slices.ContainsFunc(list, func(o directive) bool { return slices.Equal(o.at, d.at) && slices.Equal(o.target, d.target) }) {
				list = append(list, d)
			}
		}
	}
	return list
}

// common is the innermost namespace around both.
func common(a, b []string) []string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// inUnit lists what the unit declares of that name in a namespace, in the inline
// and the unnamed ones in it too.
func (r *search) inUnit(space []string, name string, reach reach) (out []meaning) {
	key := name
	if bare := index.Bare([]byte(name)); len(bare) < len(name) {
		key = string(bare) + "<"
	}
	r.s.u.lookup(key, func(d die) bool {
		spans, ok := d.context().space()
		if !ok || !within(space, spans, reach) {
			return false
		}
		if d.ab.tag == tagImportedDecl {
			t, ok := d.imported()
			if !ok {
				return false
			}
			d = t
		} else if !sameName(d.name(), name) {
			return false
		}
		if r.want.accepts(d.ab.tag) && !(d.u.isC() && r.isTag(d)) {
			out = append(out, meaning{d: d})
		}
		return false
	})
	return out
}

// elsewhere lists what other units give to the whole program of that name in a
// namespace.
func (r *search) elsewhere(space []string, name string) (out []meaning) {
	r.eachElsewhere(name, func(d die, spans []*scopeSpan) bool {
		if within(space, spans, namedSpaces) && (d.ab.tag != tagVariable || d.deepFlag(atExternal) && d.located()) &&
			(d.ab.tag != tagSubprogram || d.deepFlag(atExternal)) {
			out = append(out, meaning{d: d})
		}
		return len(out) < 100
	})
	return out
}

func (r *search) eachElsewhere(name string, visit func(d die, spans []*scopeSpan) bool) {
	r.s.m.names().find(string(index.Bare([]byte(name))), r.want.accepts, func(d die) bool {
		if d.u.whole() == r.s.u.whole() || !sameName(d.name(), name) || d.u.isC() && r.isTag(d) {
			return true
		}
		spans, ok := d.context().space()
		return !ok || visit(d, spans)
	})
}

// lastResort finds what the compiler could not have meant but GDB shows too: the
// only static variable or function of that name in the program, in any namespace
// that has no name; names that the program declares and does not define.
func (r *search) lastResort(name string, space []string) (out []meaning) {
	if r.want != anything {
		return nil
	}
	var statics []meaning
	r.eachElsewhere(name, func(d die, spans []*scopeSpan) bool {
		if within(space, spans, allSpaces) && (d.ab.tag == tagSubprogram || d.located()) {
			statics = append(statics, meaning{d: d})
		}
		return len(statics) < 2
	})
	if len(statics) > 0 {
		return statics[:len(statics)%2] // none of several
	}
	if d, ok := r.s.declaredOnly(name, space); ok {
		return []meaning{{d: d}}
	}
	return nil
}

// declaredOnly finds a variable that other units declare and the linker defines, as
// the kernel's jiffies, or one that was optimised out of the whole program.
func (fi *finder) declaredOnly(name string, space []string) (decl die, ok bool) {
	if len(space) == 0 && fi.untyped(name) {
		fi.m.names().find(name, isDeclaredTag, func(d die) bool {
			decl, ok = d, true
			return false
		})
	}
	if !ok {
		fi.m.names().find(name, isVarTag, func(d die) bool {
			spans, at := d.context().space()
			if at && d.deepFlag(atExternal) && within(space, spans, namedSpaces) {
				decl, ok = d, true
			}
			return !ok
		})
	}
	return decl, ok
}

// space lists the namespaces around an entry; false when it is a member of a
// class or local. A constant of an unscoped enumeration is where that is.
func (d declContext) space() ([]*scopeSpan, bool) {
	tag := d.ab.tag
	if tag != tagImportedDecl {
		d.die = d.declaration()
	}
	spans := d.spans()
	if n := len(spans); tag == tagEnumerator && n > 0 && spans[n-1].d.ab.tag == tagEnumerationType {
		if spans[n-1].d.flag(atEnumClass) {
			return nil, false
		}
		spans = spans[:n-1]
	}
	for _, sp := range spans {
		if t := sp.d.ab.tag; t != tagNamespace && t != tagModule {
			return nil, false
		}
	}
	return spans, true
}

// reach returns which namespaces count as parts of the one around them.
type reach uint8

const (
	allSpaces    reach = iota // inline and unnamed ones
	inlineSpaces              // inline ones; unnamed ones are named in the path
	namedSpaces               // inline ones; no unnamed ones: those of another unit
)

// within reports whether namespaces have are space or count as parts of it.
func within(space []string, have []*scopeSpan, reach reach) bool {
	if len(have) == 0 {
		return len(space) == 0
	}
	unnamed := have[0].name == anonymousName
	if len(space) > 0 && have[0].name == space[0] && !(unnamed && reach == namedSpaces) && within(space[1:], have[1:], reach) {
		return true
	}
	part := have[0].d.flag(atExportSymbols)
	if unnamed {
		part = reach == allSpaces
	}
	return part && within(space, have[1:], reach)
}

// one chooses among what a name means in one scope: an object hides a type, all
// entries of one thing count as one. Of these a definition is the best.
func (r *search) one(name string, list []meaning) (meaning, error) {
	var best meaning
	var others []string
	for _, m := range list {
		if slices.ContainsFunc(list, m.hiddenBy) {
			continue
		}
		switch {
		case best.d.ab == nil && best.class == nil:
			best = m
		case m.class != nil || best.class != nil:
		case sameEntity(best.d, m.d):
			if rankOf(m.d) > rankOf(best.d) {
				best = m
			}
		default:
			n := m.d.context().fullName()
			if best.d.ab.tag == tagSubprogram && m.d.ab.tag == tagSubprogram && n == best.d.context().fullName() {
				continue // overloads
			}
			switch {
			case best.d.u.isC() && m.d.u.isC() && best.d.u.whole() != m.d.u.whole():
				n = definedIn(m.d)
			case m.d.ab.tag == tagVariable && best.d.ab.tag == tagVariable && otherInstance(best.d, m.d):
				n = "another instance of the template of variables"
			case n == best.d.context().fullName():
				n = "a constant of an inner block"
			}
			if !slices.Contains(others, n) {
				others = append(others, n)
			}
		}
	}
	if len(others) > 0 {
		first := best.d.context().fullName()
		if best.d.u.isC() && strings.Contains(others[0], " of ") {
			first = definedIn(best.d)
		}
		return best, &debuginfo.AmbiguousError{Name: name, Candidates: append([]string{first}, others...)}
	}
	return best, nil
}

// hiddenBy: o is an object or function in the scope in which m is a type.
func (m meaning) hiddenBy(o meaning) bool {
	if m.class != nil || !isTypeTag(m.d.ab.tag) || o.class == nil && isTypeTag(o.d.ab.tag) {
		return false
	}
	if o.class != nil {
		return true
	}
	x, ok := m.d.context().space()
	y, ok2 := o.d.context().space()
	return ok == ok2 && slices.Equal(names(x), names(y))
}

// rankOf prefers definitions with a place to others, and these to declarations.
func rankOf(d die) int {
	switch {
	case d.located():
		return 2
	case !d.flag(atDeclaration):
		return 1
	}
	return 0
}

// sameEntity reports whether two entries are about the same thing: one
// declaration, or two of one name in one namespace.
func sameEntity(a, b die) bool {
	if a.declaration().key() == b.declaration().key() {
		return true
	}
	if c := a.u.isC() && b.u.isC(); c && (isTypeTag(a.ab.tag) || a.ab.tag == tagEnumerator) {
		return alike(a, b)
	}
	if isTypeTag(a.ab.tag) != isTypeTag(b.ab.tag) || a.ab.tag == tagEnumerator || a.name() != b.name() {
		return false
	}
	x, ok := a.context().space()
	y, ok2 := b.context().space()
	if !ok || !ok2 || !slices.Equal(names(x), names(y)) {
		return false
	}
	if a.ab.tag == tagSubprogram {
		return a.linkage() == b.linkage()
	}
	if a.ab.tag == tagVariable && b.ab.tag == tagVariable && otherInstance(a, b) {
		return false
	}
	static := func(d die) bool { return d.ab.tag == tagVariable && !d.deepFlag(atExternal) }
	if a.u.isTypeUnit() || b.u.isTypeUnit() { // found because this unit refers to it
		return true
	}
	return a.u.whole() == b.u.whole() || !static(a) && !static(b) && !slices.Contains(names(x), anonymousName)
}

// fullName is the entry's name with all its scopes, a global one as ::x.
func (d declContext) fullName() string {
	n := d.qualified()
	if !strings.Contains(n, "::") {
		return "::" + n
	}
	return n
}
