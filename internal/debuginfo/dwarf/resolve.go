package dwarf

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Name look-up by the rules of C++ (basic.lookup) and C: blocks from the inside out, the class and its
// bases, the scopes around the class, namespaces from the inside out. The first scope with the name ends
// the search. Declarations of the unit itself, at any level, come before other units, because only they are
// visible.

// meaning is what a name was found to be.
type meaning struct {
	d     die         // the entry, unless it is a data member
	block *block      // around a local variable
	decl  die         // of a local name: the entry that says where it is declared
	class *ctype.Type // of a data member
	found ctype.Found
	why   string // it has no value here
	// at is where the value is, if another frame has it.
	at *debuginfo.Location
}

// want selects the names to consider.
type want uint8

const (
	anything   want = iota
	typesOnly       // behind "struct"
	scopesOnly      // before "::": namespaces, classes, enumerations
)

func (w want) accepts(tag uint16) bool {
	switch {
	case w == anything:
		return tag == tagVariable || tag == tagFormalParameter || tag == tagSubprogram || tag == tagEnumerator ||
			tag == tagTemplateValue || tag == tagNamespace || isTypeTag(tag)
	case w == typesOnly:
		return isTypeTag(tag)
	}
	return tag == tagNamespace || isTypeTag(tag) && tag != tagBaseType
}

func isTypeTag(tag uint16) bool {
	switch tag {
	case tagStructType, tagClassType, tagUnionType, tagInterfaceType, tagEnumerationType,
		tagTypedef, tagTemplateAlias, tagBaseType, tagTemplateType, tagUnspecifiedType:
		return true
	}
	return false
}

// search looks for one name.
type search struct {
	s    *scope
	want want
	late []meaning // local variables that are declared further down
	// directives are the using-directives of the blocks around the place.
	directives []directive
}

// Resolve implements debuginfo.Resolver.
func (s *scope) Resolve(name string, types bool) (e *debuginfo.Entity, err error) {
	defer s.m.guard(&err)()
	return s.resolve(name, types)
}

func (s *scope) resolve(name string, types bool) (*debuginfo.Entity, error) {
	r := &search{s: s}
	if types {
		r.want = typesOnly
	}
	if s.u == nil {
		return nil, s.notFound("variable", name, nil)
	}
	if !s.u.isC() && !s.u.isCxx() {
		return s.resolvePlainly(name, types)
	}
	parts := splitName(name)
	var list []meaning
	var err error
	if len(parts) > 1 {
		list, err = r.qualified(parts)
	} else {
		list, err = r.unqualified(name)
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && len(r.late) > 0 {
		list = r.late[:1] // nothing else is meant: show it, as GDB does
	}
	return r.entity(name, list)
}

// resolvePlainly is for languages whose rules are not known here.
func (s *scope) resolvePlainly(name string, types bool) (*debuginfo.Entity, error) {
	if !types {
		if v := s.find(name); v != nil {
			return &debuginfo.Entity{Var: v}, nil
		}
		if d, enum, ok := s.findEnumerator(name); ok {
			v, _ := d.attr(atConstValue)
			return &debuginfo.Entity{Enum: s.m.convert(enum), Value: v.Int()}, nil
		}
	}
	if d, ok, err := s.findType(ctype.Typedef, name); ok {
		return &debuginfo.Entity{Type: s.m.convert(d)}, nil
	} else if err != nil {
		return nil, err
	}
	return nil, s.notFound("variable", name, s.visible())
}

// Member implements debuginfo.Resolver.
func (s *scope) Member(class *ctype.Type, name string) (e *debuginfo.Entity, err error) {
	defer s.m.guard(&err)()
	r := &search{s: s}
	parts := splitName(name)
	if len(parts) == 1 {
		list, err := r.member(class, name)
		if err != nil {
			return nil, err
		}
		return r.entity(name, list)
	}
	base, path, err := r.baseNamed(class.Strip(), parts[:len(parts)-1])
	if err != nil {
		return nil, err
	}
	list, err := r.member(base, parts[len(parts)-1])
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].found.Path = append(append([]ctype.Field(nil), path...), list[i].found.Path...)
	}
	return r.entity(name, list)
}

// baseNamed finds the base class that qualifies a member's name, p->Base::m: the
// name is looked up in the object's class, then where the expression is.
func (r *search) baseNamed(class *ctype.Type, names []string) (*ctype.Type, []ctype.Field, error) {
	q := &search{s: r.s, want: scopesOnly}
	list, err := q.member(class, names[0])
	if err == nil && len(list) > 0 && len(names) > 1 {
		list, err = q.inside(list[0], names[1:])
	} else if err == nil && len(list) == 0 {
		if list, err = q.unqualified(names[0]); len(names) > 1 {
			list, err = q.qualified(names)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	whole := strings.Join(names, "::")
	if len(list) == 0 {
		return nil, nil, r.s.notFound("class", whole, nil)
	}
	m, err := q.one(whole, list)
	if err != nil {
		return nil, nil, err
	}
	base := r.typeOf(m).Strip()
	if ctype.SameClass(class, base) {
		return base, nil, nil
	}
	path, res := class.Base(base, r.s.members)
	switch res {
	case ctype.Absent:
		return nil, nil, &debuginfo.MisusedError{Name: whole, Why: quote(base.Name) + " is no base class of " + quote(class.Name)}
	case ctype.Ambiguous:
		return nil, nil, &debuginfo.AmbiguousError{Name: whole, Candidates: []string{base.Name + " is a base of " + class.Name + " more than once"}}
	}
	return base, path, nil
}

func quote(s string) string { return "\"" + s + "\"" }

// unqualified looks up a bare name.
func (r *search) unqualified(name string) ([]meaning, error) {
	chain := r.s.chain()
	for _, b := range chain {
		if list := r.inBlock(b, name); len(list) > 0 {
			return list, nil
		}
		r.directives = append(r.directives, r.s.blockDirectives(b)...)
	}
	if v := r.further(name); v != nil {
		return []meaning{*v}, nil
	}
	var spaces []string
	if len(chain) > 0 {
		list, around, err := r.throughClasses(chain[len(chain)-1].d, name)
		if err != nil || len(list) > 0 {
			return list, err
		}
		spaces = around
	}
	for i := range r.directives {
		r.directives[i].at = spaces
	}
	return r.throughSpaces(spaces, name, r.directives)
}

// declaredLater: the text of a local declaration is after the place, so at the place the name means an
// object of an outer scope (basic.scope.pdecl).
func (s *scope) declaredLater(d die) bool {
	if d.ab == nil || d.isParam() || s.f == nil {
		return false
	}
	if s.atFile == "" {
		s.atFile, s.atLine = s.here()
	}
	file, line := d.declared()
	return file == s.atFile && line > s.atLine && s.atLine > 0
}

// here is the line of the scope's text at its pc: where functions that were inlined
// there are called, or the line of the code itself.
func (po *position) here() (file string, line int) {
	if l := po.m.lineAt(po.pc); l.File != nil {
		file, line = l.File.Full, l.Line
	}
	for b := po.f.tree().find(po.pc, false); b != nil && b != po.b; b = b.parent {
		if b.inlined && b.parent != nil && b.parent.owner() == po.b.owner() {
			return b.callSite()
		}
	}
	return file, line
}

// further is scope.further as a meaning.
func (r *search) further(name string) *meaning {
	if !r.s.outwards || r.s.b == nil || r.want != anything {
		return nil
	}
	for b := r.s.b.owner().parent; b != nil; b = b.parent {
		if d, ok := b.declares(name); ok {
			return &meaning{d: d, block: b}
		}
	}
	return nil
}

// declaration is the entry that declares what d defines, copies or inlines.
func (d die) declaration() die {
	for n := 0; n < 8; n++ {
		o, ok := d.origin()
		if !ok {
			break
		}
		d = o
	}
	return d
}

// throughClasses looks a name up in the classes and, for local classes, the
// functions around a function. spaces are the namespaces around all of them.
func (r *search) throughClasses(fn die, name string) (list []meaning, spaces []string, err error) {
	for n := 0; n < maxDepth; n++ {
		decl := fn.declaration()
		around := decl.context().blocks()
		next := die{}
		var blocks []die // of the function next
		for i := len(around) - 1; i >= 0 && next.ab == nil; i-- {
			switch d := around[i]; d.ab.tag {
			case tagSubprogram:
				next = d
				list, err = r.inFunctionAround(d, append(blocks, d), name)
			case tagNamespace, tagModule:
				return nil, append(names(d.context().spans()), d.context().last()), nil
			case tagStructType, tagClassType, tagUnionType, tagInterfaceType:
				list, err = r.inClass(d, name)
				blocks = nil
			default:
				blocks = append(blocks, d)
			}
			if err != nil || len(list) > 0 {
				return list, nil, err
			}
		}
		if next.ab == nil {
			break
		}
		fn = next
	}
	return nil, nil, nil
}

// blocks lists what an entry lies in, outermost first, within functions too:
// blocks, local classes, functions in these.
func (d declContext) blocks() (out []die) {
	for _, sp := range d.spans() {
		out = append(out, sp.d)
	}
	for n := len(out); n > 0 && n < maxDepth && !isScopeTag(out[n-1].ab.tag); n = len(out) {
		var in die
		for c := range out[n-1].children() {
			if c.off >= d.off {
				break
			}
			in = c
		}
		if in.ab == nil || !in.ab.children {
			break
		}
		if n := in.after(); n >= 0 && uint64(n) <= d.off {
			break
		}
		out = append(out, in)
	}
	return out
}

// isScopeTag: scopeSpans has the direct children of such an entry.
func isScopeTag(tag uint16) bool { return tag == tagNamespace || tag == tagModule }

// inClass looks a name up as a member of a class, then among its template's arguments.
func (r *search) inClass(d die, name string) ([]meaning, error) {
	list, err := r.member(r.s.m.convert(d), name)
	if err != nil || len(list) > 0 {
		return list, err
	}
	for c := range r.s.m.definition(d).children() {
		if (c.ab.tag == tagTemplateType || c.ab.tag == tagTemplateValue) && r.want.accepts(c.ab.tag) && c.name() == name {
			return []meaning{{d: c}}, nil
		}
	}
	return nil, nil
}

// member looks a name up in a class and its bases.
func (r *search) member(class *ctype.Type, name string) ([]meaning, error) {
	class = class.Strip()
	f, res, others := class.Member(name, r.want != anything, r.s.members)
	switch res {
	case ctype.Absent:
		if d, ok := class.Ref.(die); ok && r.want != anything && sameName(d.name(), name) {
			return []meaning{{d: d}}, nil // the class's own name with its template's arguments
		}
		return nil, nil
	case ctype.Ambiguous:
		e := &debuginfo.AmbiguousError{Name: name}
		for _, o := range others {
			if c := o.Name + "::" + name; !slices.Contains(e.Candidates, c) {
				e.Candidates = append(e.Candidates, c)
			}
		}
		if len(e.Candidates) == 1 {
			e.Candidates[0] += " in several base classes"
		}
		return nil, e
	}
	if f.Name == nil {
		return []meaning{{class: class, found: f}}, nil
	}
	var list []meaning
	_, all := r.s.members(f.In)
	for _, n := range all { // overloads
		if d, ok := n.Ref.(die); ok && n.Name == name && n.Kind == f.Name.Kind && (n.Kind == ctype.Function || d.key() == f.Name.Ref.(die).key()) {
			list = append(list, meaning{d: d})
		}
	}
	return list, nil
}

type classMembers struct {
	fields []ctype.Field
	names  []ctype.Name
}
