package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// member is X.Name and X->Name; as in GDB both take objects and pointers.
func (c *checker) member(x *lang.Member) expr {
	e := c.expr(x.X)
	if isPointer(e.Type()) {
		e = c.pointeeRecord(c.rvalue(e), x)
	} else if x.Arrow && isArray(e.Type()) {
		e = c.pointeeRecord(c.rvalue(e), x)
	}
	if !isRecord(e.Type()) {
		c.fail(x.X.Span(), fmt.Sprintf("%s has no members", typeString(e.Type())), "")
	}
	return c.memberOf(e, x.Name, x.NamePos, x.Span())
}

func (c *checker) pointeeRecord(p expr, x *lang.Member) expr {
	if !isRecord(elemOf(p.Type())) {
		hint := ""
		if isVoid(elemOf(p.Type())) {
			hint = "cast it first: ((struct s *)p)->member"
		}
		c.fail(x.X.Span(), fmt.Sprintf("%s does not point to a struct or union", typeString(p.Type())), hint)
	}
	return c.pointee(p, x.X.Span())
}

// memberOf is member name of object e; namePos is where the name stands. The name
// may be qualified: Base::m.
func (c *checker) memberOf(e expr, name string, namePos, span lang.Span) expr {
	s := e.Type().Strip()
	m, err := debuginfo.Member(c.in.Scope, s, name)
	switch {
	case err != nil:
		c.failMeaning(err, namePos)
		c.failMember(e, s, name, namePos)
	case m.Class == nil:
		return c.entity(m, name, span)
	}
	return c.target(c.along(e, m.Found.Path, span))
}

func (c *checker) failMember(e expr, s *ctype.Type, name string, namePos lang.Span) {
	if s.Incomplete || s.Size == 0 && len(s.Fields()) == 0 {
		c.failSize(e.Span(), e.Type())
	}
	hint := didYouMean(lang.Nearest(name, memberNames(s, 0), 3))
	if v, ok := e.(*varRef); ok && hint == "" && v.name == "args" && c.in.Kernel != nil {
		hint = c.whatArgsHas(s)
	}
	c.fail(namePos, fmt.Sprintf("%s has no member %q", tagged(s), name), hint)
}

const maxNesting = 32 // anonymous members and base classes

// findField finds a data member by name, in anonymous structs and unions and in
// base classes with a fixed place too; BitOffset is from the start of s.
func findField(s *ctype.Type, name string) (ctype.Field, bool) {
	m, res, _ := s.Member(name, false, nil)
	if res != ctype.Single || m.Name != nil {
		return ctype.Field{}, false
	}
	off := int64(0)
	for _, f := range m.Path {
		if f.Virtual {
			return ctype.Field{}, false
		}
		off += f.BitOffset
	}
	f := m.Path[len(m.Path)-1]
	f.BitOffset = off
	return f, true
}

func memberNames(s *ctype.Type, depth int) []string {
	var names []string
	if depth > maxNesting || !isRecord(s) {
		return nil
	}
	for _, f := range s.Fields() {
		if f.Name == "" || f.Base {
			if f.Type != nil {
				names = append(names, memberNames(f.Type.Strip(), depth+1)...)
			}
			continue
		}
		names = append(names, f.Name)
	}
	return names
}

// index is X[I]: *(X + I), with either operand the pointer.
func (c *checker) index(x *lang.Index) expr {
	a := c.expr(x.X)
	if s := a.Type().Strip(); s.Kind == ctype.Array && s.Vector && isLvalue(a) {
		return c.vectorElement(x, a)
	}
	b := c.expr(x.I)
	if isPointer(b.Type()) || isArray(b.Type()) {
		a, b = b, a
	}
	if isArray(a.Type()) && isLvalue(a) {
		if e := c.arrayElement(x, a, c.rvalue(b)); e != nil {
			return e
		}
	}
	a, b = c.rvalue(a), c.rvalue(b)
	if !isPointer(a.Type()) || !isInt(b.Type()) {
		hint := ""
		if a.Type() == vec128T {
			hint = "name the lanes: .v4_float[1], .v2_double[0], .v4_int32[3], ..."
		}
		c.fail(x.Span(), fmt.Sprintf("[] needs a pointer or array and an integer, these are %s and %s",
			typeString(a.Type()), typeString(b.Type())), hint)
	}
	return c.target(c.pointee(c.pointerAdd(x, a, b, false), x.Span()))
}

// arrayElement is an element with a constant index, wherever the array lives;
// nil when the general rule applies.
func (c *checker) arrayElement(x *lang.Index, a, i expr) expr {
	if r, ok := a.(*repeat); ok && r.n != nil {
		return nil // refused by rvalue
	}
	n, isConst := constInt(i)
	if isConst && isInt(i.Type()) {
		if e := element(a, n, x.Span()); e != nil {
			return c.target(e)
		}
	}
	if !c.hasAddress(a) {
		if isConst {
			c.fail(x.Span(), fmt.Sprintf("index %d is outside the array, which has %d elements and is not in memory here",
				n, a.Type().Strip().Count), "")
		}
		c.fail(x.Span(), "this array is not in memory here: only a constant index can be used", "")
	}
	return nil
}

func (c *checker) vectorElement(x *lang.Index, a expr) expr {
	i := c.value(x.I)
	n, ok := constInt(i)
	s := a.Type().Strip()
	if !ok || !isInt(i.Type()) {
		c.fail(x.I.Span(), "the index of a vector must be a constant", "")
	}
	e := element(a, n, x.Span())
	if e == nil {
		c.fail(x.I.Span(), fmt.Sprintf("index %d is outside the vector, which has %d elements", n, s.Count), "")
	}
	return e
}
