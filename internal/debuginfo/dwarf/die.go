package dwarf

import (
	"iter"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// die is one debugging information entry: a position, not a copy.
type die struct {
	u    *unit
	off  uint64
	ab   *abbrev
	body int // offset of the attributes
}

// maxDepth bounds every recursion over entries and references.
const maxDepth = 64

// dieAt reads the entry at a section offset. A null entry or one outside the
// unit gives false.
func (u *unit) dieAt(off uint64) (die, bool) {
	if u == nil || off < u.root || off >= u.end || u.root == 0 {
		return die{}, false
	}
	c := raw.Cursor{B: u.b, Off: int(off)}
	code := c.ULEB()
	if c.Bad || code == 0 {
		return die{}, false
	}
	ab := u.abbrevTable().get(code)
	if ab == nil {
		return die{}, false
	}
	return die{u, off, ab, c.Off}, true
}

// rootDie is the unit's own entry.
func (u *unit) rootDie() (die, bool) { return u.dieAt(u.root) }

// endAttrs is the offset after the attributes, -1 when damaged.
func (d die) endAttrs() int {
	if d.ab.fixed >= 0 {
		if d.ab.fixed > len(d.u.b)-d.body {
			return -1
		}
		return d.body + d.ab.fixed
	}
	c := raw.Cursor{B: d.u.b, Off: d.body}
	for i := range d.ab.attrs {
		d.u.f.Skip(&c, d.ab.attrs[i].form)
	}
	if c.Bad {
		return -1
	}
	return c.Off
}

// attr finds the entry's own attribute.
func (d die) attr(at uint16) (val, bool) {
	if d.ab == nil {
		return val{}, false
	}
	for i := range d.ab.attrs {
		s := &d.ab.attrs[i]
		if s.at != at {
			continue
		}
		c := raw.Cursor{B: d.u.b, Off: d.body}
		if s.pos >= 0 {
			c.Skip(uint64(s.pos))
		} else {
			for j := range i {
				d.u.f.Skip(&c, d.ab.attrs[j].form)
			}
		}
		return val{d.u.f.Read(&c, s.form, s.implicit), d.u}, !c.Bad
	}
	return val{}, false
}

// each visits all attributes in order.
func (d die) each(fn func(at uint16, v val)) {
	c := raw.Cursor{B: d.u.b, Off: d.body}
	for i := range d.ab.attrs {
		s := &d.ab.attrs[i]
		v := d.u.f.Read(&c, s.form, s.implicit)
		if c.Bad {
			return
		}
		fn(s.at, val{v, d.u})
	}
}

// deep finds an attribute here or in what the entry completes: its abstract
// origin or its specification.
func (d die) deep(at uint16) (val, bool) {
	for n := 0; n < 8; n++ {
		if v, ok := d.attr(at); ok {
			return v, true
		}
		o, ok := d.origin()
		if !ok {
			break
		}
		d = o
	}
	return val{}, false
}

// origin is what DW_AT_abstract_origin or DW_AT_specification refers to.
func (d die) origin() (die, bool) {
	v, ok := d.attr(atAbstractOrigin)
	if !ok {
		if v, ok = d.attr(atSpecification); !ok {
			return die{}, false
		}
	}
	return v.die()
}

// die resolves a reference.
func (v val) die() (die, bool) {
	u := v.u
	if u == nil {
		return die{}, false
	}
	switch v.Form {
	case raw.FormRef1, raw.FormRef2, raw.FormRef4, raw.FormRef8, raw.FormRefUdata:
		return u.dieAt(u.off + v.N)
	case raw.FormRefAddr:
		return u.d.unitAt(v.N).dieAt(v.N)
	case raw.FormRefSig8:
		u.d.scan()
		if t := u.d.sigs[v.N]; t != nil {
			return t.dieAt(t.off + t.typ)
		}
	case raw.FormRefSup4, raw.FormRefSup8, raw.FormGNURefAlt:
		if u.d.alt != nil {
			return u.d.alt.unitAt(v.N).dieAt(v.N)
		}
	}
	return die{}, false
}

// ref follows a reference attribute, its own or an inherited one.
func (d die) ref(at uint16) (die, bool) {
	v, ok := d.deep(at)
	if !ok {
		return die{}, false
	}
	return v.die()
}

// name is DW_AT_name, own or inherited.
func (d die) name() string { return string(d.nameBytes()) }

// nameBytes is name without making a string. clang's declarations of types in type
// units have no name but that of the type; gcc's references to such types, which are
// nowhere in particular, are no declarations.
func (d die) nameBytes() []byte {
	v, ok := d.deep(atName)
	if !ok && d.ab.has(atSignature) && d.flag(atDeclaration) {
		if sig, is := d.attr(atSignature); is {
			if t, found := sig.die(); found {
				v, _ = t.deep(atName)
			}
		}
	}
	return v.strBytes()
}

// linkage returns the mangled name, "" if there is none.
func (d die) linkage() string {
	if v, ok := d.deep(atLinkageName); ok {
		return v.str()
	}
	v, _ := d.deep(atMIPSLinkage)
	return v.str()
}

func (d die) flag(at uint16) bool {
	v, ok := d.attr(at)
	return ok && v.N != 0
}

func (d die) deepFlag(at uint16) bool {
	v, ok := d.deep(at)
	return ok && v.N != 0
}

// num is a constant attribute, own or inherited.
func (d die) num(at uint16) (uint64, bool) {
	v, ok := d.deep(at)
	if !ok || v.IsBlock() || v.IsRef() {
		return 0, false
	}
	return v.N, true
}

// firstChild is the offset of the first child, 0 when there are none.
func (d die) firstChild() int {
	if !d.ab.children {
		return 0
	}
	if n := d.endAttrs(); n > 0 {
		return n
	}
	return 0
}

// siblingOff is DW_AT_sibling as a section offset that lies ahead, else 0.
func (d die) siblingOff() int {
	if !d.ab.sibling {
		return 0
	}
	v, _ := d.attr(atSibling)
	var off uint64
	switch v.Form {
	case raw.FormRef1, raw.FormRef2, raw.FormRef4, raw.FormRef8, raw.FormRefUdata:
		off = d.u.off + v.N
	case raw.FormRefAddr:
		off = v.N
	}
	if off > uint64(d.body) && off <= d.u.end {
		return int(off)
	}
	return 0
}

// after returns the offset after the entry and all its children, -1 if damaged.
func (d die) after() int {
	if !d.ab.children {
		return d.endAttrs()
	}
	if off := d.siblingOff(); off > 0 {
		return off
	}
	pos := d.endAttrs()
	for depth := 1; pos >= 0; {
		e, next, ok := d.u.step(pos)
		if !ok {
			return -1
		}
		pos = next
		if e.ab == nil {
			if depth--; depth == 0 {
				return next
			}
		} else if e.ab.children {
			if off := e.siblingOff(); off > 0 {
				pos = off
			} else {
				depth++
			}
		}
	}
	return -1
}

// walk visits the entries below d in file order with one position that only
// moves forward, so that damaged sibling links cannot make it long. depth is 1
// for d's children. fn reports whether to go into the entry's children.
func (d die) walk(fn func(e die, depth int) bool) {
	pos := d.firstChild()
	if pos <= 0 {
		return
	}
	for depth := 1; pos >= 0; {
		e, next, ok := d.u.step(pos)
		if !ok {
			return
		}
		if e.ab == nil {
			if depth--; depth == 0 {
				return
			}
			pos = next
			continue
		}
		if !fn(e, depth) {
			pos = e.after()
			continue
		}
		pos = next
		if e.ab.children {
			depth++
		}
	}
}

// step reads the entry at pos. A null entry has no abbreviation. next is the
// offset after the entry's attributes. ok is false at the unit's end or damage.
func (u *unit) step(pos int) (e die, next int, ok bool) {
	if pos >= len(u.b) || pos < 0 {
		return die{}, 0, false
	}
	c := raw.Cursor{B: u.b, Off: pos}
	code := c.ULEB()
	if c.Bad {
		return die{}, 0, false
	}
	if code == 0 {
		return die{u: u, off: uint64(pos)}, c.Off, true
	}
	ab := u.abbrevTable().get(code)
	if ab == nil {
		return die{}, 0, false
	}
	e = die{u, uint64(pos), ab, c.Off}
	next = e.endAttrs()
	return e, next, next >= 0
}

// children visits the direct children.
func (d die) children() iter.Seq[die] {
	return func(yield func(die) bool) {
		for pos := d.firstChild(); pos > 0; {
			e, _, ok := d.u.step(pos)
			if !ok || e.ab == nil || !yield(e) {
				return
			}
			pos = e.after()
		}
	}
}
