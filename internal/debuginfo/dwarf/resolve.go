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

// inBlock looks a name up among a block's own; an object hides a type. Declarations after the place are
// considered later. No block has a variable and an enumerator of one name: if it seems so, the compiler has
// not described an inner block, and it is not known which of them is meant.
func (r *search) inBlock(b *block, name string) (list []meaning) {
	add := func(m meaning) {
		if r.s.declaredLater(m.decl) {
			r.late = append(r.late, m)
		} else {
			list = append(list, m)
		}
	}
	if r.want == anything {
		if d, ok := b.declares(name); ok {
			add(meaning{d: d, block: b, decl: d})
		}
		for _, t := range b.types {
			if t.ab.tag == tagTemplateValue && t.name() == name {
				add(meaning{d: t})
			}
		}
		if d, t, ok := r.enumerator(b.types, name); ok {
			add(meaning{d: d, decl: t})
		}
	}
	for _, e := range b.imports {
		if d, ok := e.imported(); ok && e.ab.tag == tagImportedDecl && r.want.accepts(d.ab.tag) {
			if own := e.name(); own == name || own == "" && sameName(d.name(), name) {
				add(meaning{d: d}) // gcc gives a using-declaration the function's last line
			}
		}
	}
	for _, t := range b.types {
		if t.ab.tag != tagTemplateValue && r.want.accepts(t.ab.tag) && !(r.s.u.isC() && r.isTag(t)) && sameName(t.name(), name) {
			add(meaning{d: t, decl: t})
		}
	}
	return list
}

// isTag: in C the names of structs, unions and enumerations are apart from others.
func (r *search) isTag(d die) bool {
	switch d.ab.tag {
	case tagStructType, tagClassType, tagUnionType, tagEnumerationType:
		return r.want == anything
	}
	return false
}

// enumerator finds a constant of the unscoped enumerations among types.
func (r *search) enumerator(types []die, name string) (c, enum die, ok bool) {
	for _, t := range types {
		if t.ab.tag != tagEnumerationType || t.flag(atEnumClass) {
			continue
		}
		for c := range t.children() {
			if c.ab.tag == tagEnumerator && c.name() == name {
				return c, t, true
			}
		}
	}
	return die{}, die{}, false
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

// inFunctionAround looks a name up in the blocks of a function that contains a class: its local objects
// have no value in the class's functions, unless they are static.
func (r *search) inFunctionAround(fn die, blocks []die, name string) ([]meaning, error) {
	path := map[uint64]bool{}
	for _, d := range blocks {
		path[d.off] = true
	}
	for _, d := range blocks {
		b := &block{d: d}
		for c := range d.children() {
			b.add(c)
		}
		found := r.inBlock(b, name)
		if len(found) == 0 {
			r.directives = append(r.directives, r.s.blockDirectives(b)...)
			continue
		}
		m, err := r.one(name, found)
		if err != nil {
			return nil, err
		}
		if r.inOtherBlock(fn, path, name) {
			return nil, unknownBlock(fn, name)
		}
		if m.block != nil && !m.d.fixed() {
			if v, ok := r.s.staticOf(fn, name); ok {
				m.d = v
			} else if !isConstant(m.d) {
				m.why = "it is a local variable of " + fn.funcName() + ", to which this function has no access"
			}
		}
		m.block = nil
		return []meaning{m}, nil
	}
	if r.inOtherBlock(fn, path, name) {
		return nil, unknownBlock(fn, name)
	}
	return nil, nil
}

func unknownBlock(fn die, name string) error {
	return &debuginfo.MisusedError{Name: name, Why: quote(name) + " may be a name of a block of " + fn.funcName() +
		": which of its blocks is around this function, the debug information does not say"}
}

// isConstant: a variable that a local class's functions may use, since it is declared const
// with a value that is known. gcc gives a value to others too when it optimises.
func isConstant(d die) bool {
	if _, known := d.deep(atConstValue); !known {
		return false
	}
	v, _ := d.deep(atType)
	t, ok := v.die()
	for n := 0; ok && n < 8 && t.ab.tag == tagTypedef; n++ {
		t, ok = t.ref(atType)
	}
	return ok && t.ab.tag == tagConstType
}

// inOtherBlock: a block of fn that is not around the class declares the name before
// the place. Compilers put local classes at the top of the function.
func (r *search) inOtherBlock(fn die, path map[uint64]bool, name string) (found bool) {
	fn.walk(func(e die, _ int) bool {
		switch e.ab.tag {
		case tagLexicalBlock, tagTryBlock, tagCatchBlock:
			if !path[e.off] && !found {
				b := &block{d: e}
				for c := range e.children() {
					b.add(c)
				}
				late := len(r.late)
				found = len(r.inBlock(b, name)) > 0
				r.late = r.late[:late]
			}
			return true
		}
		return false
	})
	return found
}

// staticOf finds a static variable in the code made of an abstract function.
func (s *scope) staticOf(fn die, name string) (die, bool) {
	for _, f := range fn.u.functions().fns {
		if f.d.off == fn.off || f.d.declaration().key() != fn.declaration().key() {
			continue
		}
		if d, ok := f.tree().anywhere(name); ok && d.fixed() {
			return d, true
		}
	}
	return die{}, false
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
