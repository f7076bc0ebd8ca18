package dwarf

import (
	"github.com/jalon-trace/jalon/internal/ctype"
)

// makeStruct makes a struct, class or union. Members are read when first asked
// for. A declaration is replaced by a definition of that name elsewhere.
func makeStruct(m *Module, d die, t *ctype.Type) {
	def := m.definition(d)
	t.Kind, t.Name, t.Size = ctype.Struct, d.typeName(), def.size()
	if t.Name == "" {
		t.Name = def.typeName()
	}
	if d.ab.tag == tagUnionType {
		t.Kind = ctype.Union
	}
	if def.flag(atDeclaration) {
		t.Incomplete = true
		return
	}
	t.Lazy(func(t *ctype.Type) { m.loadFields(def, t) })
}

// definition finds what a declaration declares: by type signature, in the same
// unit, or by name in other units. Without one it is the declaration itself.
func (m *Module) definition(d die) die {
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
	if d.u.isC() { // the index has one definition of the program; the unit's own comes first
		own := func(e die) bool { return sameTag(e.ab.tag, d.ab.tag) && !e.flag(atDeclaration) }
		if e, ok := d.u.lookup(name, own); ok {
			return e
		}
	}
	scopes := d.parents()
	best := d
	found := false
	m.names().find(name, func(tag uint16) bool { return sameTag(tag, d.ab.tag) }, func(e die) bool {
		if e.flag(atDeclaration) || len(scopes) > 0 && !e.inScopes(scopes) {
			return true
		}
		if !found || e.u == d.u {
			best, found = e, true
		}
		return e.u != d.u
	})
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
func (m *Module) loadFields(d die, t *ctype.Type) {
	defer m.guard(nil)()
	if m.closed {
		return
	}
	var out []ctype.Field
	for c := range d.children() {
		switch c.ab.tag {
		case tagMember:
			if f, ok := m.field(c, d.ab.tag == tagUnionType); ok {
				out = append(out, f)
			}
		case tagInheritance:
			if f, ok := m.field(c, false); ok {
				f.Base = true
				f.Name = f.Type.Name
				out = append(out, f)
			}
		}
		if len(out) > 100_000 {
			break
		}
	}
	t.SetFields(out)
}

// field reads one member. Static members and members whose place must be
// computed at run time (virtual bases) are left out.
func (m *Module) field(c die, union bool) (f ctype.Field, ok bool) {
	if c.flag(atDeclaration) || c.flag(atExternal) && !c.ab.has(atDataMemberLoc) && !c.ab.has(atDataBitOffset) {
		return f, false
	}
	f.Name = c.name()
	f.Type = m.typeOf(c)
	bits, _ := c.num(atBitSize)
	f.BitSize = int64(min(bits, 1<<20))
	if v, has := c.attr(atDataBitOffset); has && v.isConst() {
		f.BitOffset = v.int()
		return f, true
	}
	byteOff, ok := c.memberOffset()
	if !ok {
		return f, false
	}
	f.BitOffset = byteOff * 8
	if v, has := c.attr(atBitOffset); has && f.BitSize > 0 && v.isConst() {
		storage := c.size()
		if storage == 0 {
			storage = f.Type.Size
		}
		f.BitOffset += storage*8 - v.int() - f.BitSize
	}
	return f, true
}

// memberOffset is DW_AT_data_member_location: a constant or, in DWARF 2, an
// expression that adds one. Absent means 0.
func (d die) memberOffset() (int64, bool) {
	v, ok := d.attr(atDataMemberLoc)
	if !ok {
		return 0, true
	}
	if !v.isBlock() {
		return v.int(), v.isConst() && v.n < 1<<50
	}
	c := cursor{b: v.b}
	if c.u8() == 0x23 { // DW_OP_plus_uconst
		n := c.uleb()
		return int64(n), c.done() && !c.bad && n < 1<<50
	}
	return 0, false
}

// makeEnum makes an enumeration. It is signed when its type says so or, without
// one, when a value is negative.
func makeEnum(m *Module, d die, t *ctype.Type) {
	def := m.definition(d)
	t.Kind, t.Name, t.Size = ctype.Enum, d.typeName(), def.size()
	if t.Name == "" {
		t.Name = def.typeName()
	}
	if def.flag(atDeclaration) {
		t.Incomplete = true
	}
	if under, ok := def.ref(atType); ok {
		u := m.convert(under).Strip()
		t.Signed = u.Signed
		if t.Size == 0 {
			t.Size = u.Size
		}
	} else {
		t.Signed = def.negativeEnum()
	}
	t.Lazy(func(t *ctype.Type) { m.loadEnum(def, t) })
}

func (d die) negativeEnum() bool {
	for c := range d.children() {
		if v, ok := c.attr(atConstValue); ok && c.ab.tag == tagEnumerator {
			if (v.form == formSdata || v.form == formImplicit) && v.int() < 0 {
				return true
			}
		}
	}
	return false
}

func (m *Module) loadEnum(d die, t *ctype.Type) {
	defer m.guard(nil)()
	if m.closed {
		return
	}
	var out []ctype.Enumerator
	for c := range d.children() {
		if c.ab.tag != tagEnumerator {
			continue
		}
		v, _ := c.attr(atConstValue)
		out = append(out, ctype.Enumerator{Name: c.name(), Value: v.int()})
		if len(out) > 1_000_000 {
			break
		}
	}
	t.SetEnumerators(out)
}
