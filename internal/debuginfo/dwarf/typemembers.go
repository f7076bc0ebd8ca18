package dwarf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// makeStruct makes a struct, class or union. Members are read on first access. A declaration is replaced by a
// definition of that name elsewhere.
func makeStruct(ts *types, d die, t *ctype.Type) {
	def := ts.definition(d)
	t.Kind, t.Name, t.Size = ctype.Struct, typeName(d), def.size()
	if t.Name == "" {
		t.Name = typeName(def)
	}
	t.Tagless = def.u.isCxx()
	if d.ab.tag == tagUnionType {
		t.Kind = ctype.Union
	}
	if def.flag(atDeclaration) {
		t.Incomplete = true
		return
	}
	t.Class, t.Ref = classKey(def), def
	t.Lazy(func(t *ctype.Type) { ts.loadFields(def, t) })
}

// classKey is ctype.Type.Class: the qualified name of a class with linkage, the
// definition itself of any other.
func classKey(def die) any {
	if def.u.isC() {
		return nil
	}
	name := def.name()
	if name == "" {
		return def.key()
	}
	for _, sp := range def.context().spans() {
		if sp.d.ab.tag == tagSubprogram || sp.name == "" || sp.name == anonymousName {
			return def.key()
		}
		name = sp.name + "::" + name
	}
	return name
}

// definition finds what a declaration declares: by type signature, in the same
// unit, or by name in other units. Without one it is the declaration itself.
func (ts *types) definition(d die) die {
	if v, ok := d.attr(atSignature); ok {
		if s, ok := v.die(); ok {
			return s
		}
	}
	if !d.flag(atDeclaration) {
		return d
	}
	name := d.name()
	if name == "" {
		return d
	}
	if d.u.isC() { // the unit's own comes first
		own := func(e die) bool { return sameTag(e.ab.tag, d.ab.tag) && !e.flag(atDeclaration) }
		if e, ok := d.u.lookup(name, own); ok {
			return e
		}
	}
	differ := false
	full := d.context().qualified()
	best := d
	found := false
	ts.names().find(name, func(tag uint16) bool { return sameTag(tag, d.ab.tag) }, func(e die) bool {
		if e.flag(atDeclaration) || e.context().qualified() != full || e.u.whole() != d.u.whole() && strings.Contains(full, anonymousName) {
			return true
		}
		if found && d.u.isC() && e.u.isC() && !alike(best, e) {
			differ = true // which of them the declaration is of, nothing says
		}
		if !found || e.u == d.u {
			best, found = e, true
		}
		return e.u != d.u && !differ
	})
	if differ {
		return d
	}
	return best
}

func sameTag(a, b uint16) bool {
	class := func(t uint16) uint16 {
		if t == tagClassType || t == tagInterfaceType {
			return tagStructType
		}
		return t
	}
	return class(a) == class(b)
}

// loadFields is the lazy part of makeStruct; it runs outside the module's lock.
func (ts *types) loadFields(d die, t *ctype.Type) {
	defer ts.guard(nil)()
	if ts.closed {
		return
	}
	fields, names := ts.membersOf(d)
	t.SetFields(fields)
	t.SetNames(names)
	t.SetVariants(ts.variantsOf(d))
}

// withMembers returns t with the members of its structures, for use inside the module's lock, which Type.Fields takes.
// Members of structures of more than largest bytes, which are not in registers, are left as they are.
func (ts *types) withMembers(t *ctype.Type, largest int64, depth int) *ctype.Type {
	s := t.Strip()
	def, ok := s.Ref.(die)
	switch {
	case depth > 16:
	case s.Kind == ctype.Array && s.Elem != nil:
		return &ctype.Type{Kind: s.Kind, Name: s.Name, Size: s.Size, Count: s.Count, Vector: s.Vector, Elem: ts.withMembers(s.Elem, largest, depth+1)}
	case (s.Kind == ctype.Struct || s.Kind == ctype.Union) && ok:
		n := &ctype.Type{Kind: s.Kind, Name: s.Name, Size: s.Size}
		fields, _ := ts.membersOf(def)
		for i := range fields {
			if n.Size <= largest {
				fields[i].Type = ts.withMembers(fields[i].Type, largest, depth+1)
			}
		}
		n.SetFields(fields)
		return n
	}
	return s
}

// maxMembers bounds the members that are read of one class.
const maxMembers = 100_000

// membersOf reads what a class declares.
func (ts *types) membersOf(d die) (out []ctype.Field, names []ctype.Name) {
	for c := range d.children() {
		switch c.ab.tag {
		case tagMember:
			if f, ok := ts.field(c, d.ab.tag == tagUnionType); ok {
				f.Embedded = c.flag(atGoEmbedded) || len(out) == 0 && d.u.isFortran() && extended(f)
				out = append(out, f)
				continue
			}
		case tagInheritance:
			out = append(out, ts.base(c))
			continue
		}
		if !d.u.isC() {
			names = ts.declared(names, d, c)
		}
		if len(out)+len(names) > maxMembers {
			break
		}
	}
	reverseEnums(out)
	if own := string(index.Bare(d.nameBytes())); own != "" && !d.u.isC() {
		names = append(names, ctype.Name{Name: own, Kind: ctype.NestedType, Ref: d}) // the injected class name
	}
	return out, names
}

// extended reports whether the first member of a type of Fortran is the type that it extends: it has that type's name.
func extended(f ctype.Field) bool {
	s := f.Type.Strip()
	name := splitName(s.Name)
	return s.Kind == ctype.Struct && name[len(name)-1] == f.Name
}

// declared adds the names that entry c of class d declares besides data members.
// Constructors have no name that could be looked up.
func (ts *types) declared(names []ctype.Name, d, c die) []ctype.Name {
	n := ctype.Name{Name: c.name(), Ref: c}
	switch c.ab.tag {
	case tagMember, tagVariable:
		n.Kind = ctype.StaticMember
	case tagSubprogram:
		n.Kind = ctype.Function
		if n.Name == string(index.Bare(d.nameBytes())) {
			return names
		}
	case tagEnumerationType:
		n.Kind = ctype.NestedType
		if !c.flag(atEnumClass) {
			for e := range ts.definition(c).children() {
				if e.ab.tag == tagEnumerator && len(names) < maxMembers {
					names = append(names, ctype.Name{Name: e.name(), Kind: ctype.Constant, Ref: e})
				}
			}
		}
	case tagStructType, tagClassType, tagUnionType, tagInterfaceType, tagTypedef, tagTemplateAlias:
		n.Kind = ctype.NestedType
	case tagTemplateType:
		if !d.u.isRust() {
			return names
		}
		n.Kind, n.Of = ctype.NestedType, ts.typeOf(c)
	case tagImportedDecl:
		o, ok := c.ref(atImport)
		if !ok {
			return names
		}
		around := o.context().spans()
		if len(around) == 0 {
			return names
		}
		n.Name, n.Kind, n.Of = o.name(), ctype.Using, ts.convert(ts.definition(around[len(around)-1].d))
	default:
		return names
	}
	if n.Name == "" {
		return names
	}
	return append(names, n)
}

// base reads a base class. One whose place is given in a way that is not known
// is a virtual one with VtableOffset 0.
func (ts *types) base(c die) ctype.Field {
	f, ok := ts.field(c, false)
	if v, _ := c.num(atVirtuality); v != 0 || !ok {
		f = ctype.Field{Type: ts.typeOf(c), Virtual: true}
		f.VtableOffset, _ = vtableOffset(c)
	}
	f.Base, f.Name = true, f.Type.Strip().Name
	return f
}

// vtableOffset recognises the location that compilers give a virtual base:
//
//	dup, deref, N, minus, deref, plus
//
// the object's address plus the word N bytes before where its first word points.
func vtableOffset(d die) (int64, bool) {
	v, ok := d.attr(atDataMemberLoc)
	if !ok || !v.IsBlock() {
		return 0, false
	}
	c := raw.Cursor{B: v.B}
	if c.U8() != 0x12 || c.U8() != 0x06 {
		return 0, false
	}
	n := uint64(0)
	switch op := c.U8(); {
	case op >= 0x30 && op <= 0x4f: // lit0 ... lit31
		n = uint64(op - 0x30)
	case op == 0x08: // const1u
		n = uint64(c.U8())
	case op == 0x0a: // const2u
		n = uint64(c.U8())
		n |= uint64(c.U8()) << 8
	case op == 0x10: // constu
		n = c.ULEB()
	default:
		return 0, false
	}
	ok = c.U8() == 0x1c && c.U8() == 0x06 && c.U8() == 0x22 && c.Done() && !c.Bad && n < 1<<31
	return -int64(n), ok
}

// field reads one member. Static members are left out.
func (ts *types) field(c die, union bool) (f ctype.Field, ok bool) {
	if c.flag(atDeclaration) || c.flag(atExternal) && !c.ab.has(atDataMemberLoc) && !c.ab.has(atDataBitOffset) {
		return f, false
	}
	f.Name = c.name()
	f.Type = ts.typeOf(c)
	bits, _ := c.num(atBitSize)
	f.BitSize = int64(min(bits, 1<<20))
	if v, has := c.attr(atDataBitOffset); has && v.IsConst() {
		f.BitOffset = v.Int()
		return f, true
	}
	byteOff, ok := memberOffset(c)
	if !ok {
		return f, false
	}
	f.BitOffset = byteOff * 8
	if v, has := c.attr(atBitOffset); has && f.BitSize > 0 && v.IsConst() {
		storage := c.size()
		if storage == 0 {
			storage = f.Type.Size
		}
		f.BitOffset += storage*8 - v.Int() - f.BitSize
	}
	return f, true
}

// memberOffset is DW_AT_data_member_location: a constant or, in DWARF 2, an
// expression that adds one. Absent means 0.
func memberOffset(d die) (int64, bool) {
	v, ok := d.attr(atDataMemberLoc)
	if !ok {
		return 0, true
	}
	if !v.IsBlock() {
		return v.Int(), v.IsConst() && v.N < 1<<50
	}
	c := raw.Cursor{B: v.B}
	if c.U8() == 0x23 { // DW_OP_plus_uconst
		n := c.ULEB()
		return int64(n), c.Done() && !c.Bad && n < 1<<50
	}
	return 0, false
}

// makeEnum makes an enumeration. It is signed if its type is signed or, without a type, if a value is
// negative.
func makeEnum(ts *types, d die, t *ctype.Type) {
	def := ts.definition(d)
	t.Kind, t.Name, t.Size = ctype.Enum, typeName(d), def.size()
	t.Tagless = def.u.isCxx()
	if t.Name == "" {
		t.Name = typeName(def)
	}
	if def.flag(atDeclaration) {
		t.Incomplete = true
	}
	if under, ok := def.ref(atType); ok {
		u := ts.convert(under).Strip()
		t.Signed = u.Signed
		if t.Size == 0 {
			t.Size = u.Size
		}
	} else {
		t.Signed = hasNegative(def)
	}
	t.Lazy(func(t *ctype.Type) { ts.loadEnum(def, t) })
}

func hasNegative(d die) bool {
	for c := range d.children() {
		if v, ok := c.attr(atConstValue); ok && c.ab.tag == tagEnumerator {
			if (v.Form == raw.FormSdata || v.Form == raw.FormImplicit) && v.Int() < 0 {
				return true
			}
		}
	}
	return false
}

// ofEnumerators is the prefix of the names of an enumeration's values in C++: its
// scopes, and its own name where its values are in a scope of their own (enum class).
func (d declContext) ofEnumerators() string {
	if !d.u.isCxx() {
		return ""
	}
	scopes := d.names()
	if d.flag(atEnumClass) {
		scopes = append(scopes, d.name())
	}
	return strings.Join(append(scopes, ""), "::")
}

func (ts *types) loadEnum(d die, t *ctype.Type) {
	defer ts.guard(nil)()
	if ts.closed {
		return
	}
	var out []ctype.Enumerator
	scope := d.context().ofEnumerators()
	for c := range d.children() {
		if c.ab.tag != tagEnumerator {
			continue
		}
		v, _ := c.attr(atConstValue)
		out = append(out, ctype.Enumerator{Name: scope + c.name(), Value: v.Int()})
		if len(out) > 1_000_000 {
			break
		}
	}
	t.SetEnumerators(out)
}
