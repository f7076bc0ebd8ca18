package dwarf

import (
	"path"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
)

// In C one name may mean different things in one program. If a unit does not describe a type itself, the
// types of other units are used if they are alike.

// shapeAttrs are the numbers that make two entries different.
var shapeAttrs = []uint16{atByteSize, atDataMemberLoc, atBitSize, atDataBitOffset, atBitOffset, atConstValue, atUpperBound, atCount, atEncoding}

// maxAlike bounds how deep types without names are compared, and how many members.
const (
	maxAlike   = 8
	maxCompare = 10_000
)

// alike reports whether two types, or enumerators, of C units are the same as far as a
// program can see: names, sizes, members and their places.
func alike(a, b die) bool {
	c := comparison{left: maxCompare}
	return c.alike(a, b, maxAlike)
}

// comparison compares entries; left is how many more it compares.
type comparison struct{ left int }

func (c *comparison) alike(d, o die, depth int) bool {
	if c.left--; c.left < 0 || depth == 0 || d.key() == o.key() {
		return c.left >= 0
	}
	if !sameTag(d.ab.tag, o.ab.tag) || d.name() != o.name() {
		return false
	}
	if d.flag(atDeclaration) || o.flag(atDeclaration) {
		return true
	}
	for _, at := range shapeAttrs {
		x, has := d.num(at)
		if y, its := o.num(at); has != its || x != y {
			return false
		}
	}
	return c.types(d, o, depth) && c.children(d, o, depth)
}

// types compares what the entries are made of. Types with names are alike if the names
// and sizes are.
func (c *comparison) types(d, o die, depth int) bool {
	x, has := d.ref(atType)
	y, its := o.ref(atType)
	switch {
	case has != its:
		return false
	case !has:
		return true
	case x.name() != "":
		return sameTag(x.ab.tag, y.ab.tag) && x.name() == y.name() && (x.flag(atDeclaration) || y.flag(atDeclaration) || x.size() == y.size())
	}
	return c.alike(x, y, depth-1)
}

func (c *comparison) children(d, o die, depth int) bool {
	var theirs []die
	for e := range o.children() {
		if len(theirs) > maxCompare {
			return false
		}
		theirs = append(theirs, e)
	}
	for e := range d.children() {
		if len(theirs) == 0 || !c.alike(e, theirs[0], depth) {
			return false
		}
		theirs = theirs[1:]
	}
	return len(theirs) == 0
}

// shapeOf distinguishes entries of one name in the index: those from one header have the same shape. It does not
// read the members, because there are many.
func shapeOf(d die) (h uint64) {
	add := func(v uint64) { h = h*1_000_003 + v }
	d.each(func(at uint16, v val) {
		switch at {
		case atByteSize, atDeclLine, atConstValue:
			add(v.N + uint64(at)<<32)
		case atType:
			if d.ab.tag != tagTypedef {
				break
			}
			if t, ok := v.die(); ok {
				n, _ := t.attr(atName)
				add(index.Key(t.ab.tag, n.strBytes()))
			}
		}
	})
	if !d.ab.children {
		return h
	}
	for c := range d.children() {
		n, _ := c.attr(atName)
		add(index.Key(c.ab.tag, n.strBytes()))
		break
	}
	return h
}

// definedIn names a type or constant with the source file that defines it.
func definedIn(d die) string {
	at := d
	if e, ok := d.enumeration(); ok && d.ab.tag == tagEnumerator {
		at = e
	}
	file, _ := at.declared()
	if file == "" {
		file = d.u.head().name
	}
	word := map[uint16]string{tagStructType: "struct ", tagUnionType: "union ", tagEnumerationType: "enum "}[d.ab.tag]
	return word + d.name() + " of " + path.Base(file)
}

// otherInstance: a and b are instances of a template of variables. Compilers give all of them the template's name.
func otherInstance(a, b die) bool {
	if x, y := a.linkage(), b.linkage(); x != "" && y != "" {
		return x != y
	}
	return a.u == b.u && a.hasArguments() && b.hasArguments()
}

// hasArguments: the entry has template arguments.
func (d die) hasArguments() bool {
	for c := range d.children() {
		if c.ab.tag == tagTemplateType || c.ab.tag == tagTemplateValue {
			return true
		}
	}
	return false
}
