package sema

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// member is X.Name and X->Name; as in GDB both take objects and pointers.
func (c *checker) member(x *lang.Member) expr {
	if v := c.packageVariable(x); v != nil {
		return c.variable(v, x.Span())
	}
	e := c.objectBefore(x)
	if !isRecord(e.Type()) {
		c.fail(x.X.Span(), fmt.Sprintf("%s has no members", typeString(e.Type())), c.packageHint(x, e))
	}
	return c.memberOf(e, x.Name, x.NamePos, x.Span())
}

// packageVariable finds pkg.Name, a variable of a package of Go: its name in the
// debug information has the dot in it. nil when x is a member of something.
func (c *checker) packageVariable(x *lang.Member) *debuginfo.Variable {
	id, ok := x.X.(*lang.Ident)
	scope, knows := c.in.Scope.(debuginfo.Packager)
	if !ok || !knows || x.Arrow {
		return nil
	}
	v := scope.PackageVariable(id.Name, x.Name)
	if v == nil || v.Type == nil {
		return nil
	}
	if v, err := c.in.Scope.Lookup(id.Name); err == nil && (v.Type == nil || v.Type.Strip().Kind != ctype.Func) {
		return nil // main is a function and a package
	}
	return v
}

// packageHint explains main.x, where main is a function, for a variable that the package does not have.
func (c *checker) packageHint(x *lang.Member, e expr) string {
	id, ok := x.X.(*lang.Ident)
	if _, knows := c.in.Scope.(debuginfo.Packager); !ok || !knows || x.Arrow || !isFunc(e.Type()) {
		return ""
	}
	return fmt.Sprintf("this is the function %s; there is no package variable %s.%s (linkers remove unused ones)", id.Name, id.Name, x.Name)
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
		return c.vectorElement(x, a, c.value(x.I))
	}
	if strings.HasPrefix(a.Type().Name, "map[") {
		c.fail(x.Span(), "a map is not searched at a site", "len() is known; trace a place where the element has a name")
	}
	a = c.behindRef(a)
	if k := c.contentOf(a); k != nil {
		c.needElements(k, x.Span())
		return c.elementAt(k, c.value(x.I), x.Span())
	}
	if e := c.row(a, x.Span(), func() expr { return c.value(x.I) }); e != nil {
		return e
	}
	b := c.expr(x.I)
	if isPointer(b.Type()) || isArray(b.Type()) {
		a, b = b, a
	}
	if isArray(a.Type()) && a.Type().Strip().Fortran {
		c.fail(x.Span(), "an element of a Fortran array is written with parentheses",
			"a(i) or a(i, j), with the program's own bounds")
	}
	return c.elementOf(x, a, b)
}

// fortranElement is a(i, j) of an array of Fortran: the first index is that of the
// innermost dimension. nil when x does not name an element of such an array.
func (c *checker) fortranElement(x *lang.Call) expr {
	switch fn := x.Fn.(type) {
	case *lang.Ident:
		if v, err := c.in.Scope.Lookup(fn.Name); err != nil || v.Type == nil || v.Type.Strip().Kind == ctype.Func {
			return nil
		}
	case *lang.Member, *lang.Scoped, *lang.Unary:
	default:
		return nil
	}
	a := c.textBehind(c.expr(x.Fn))
	if a.Type().Strip().Kind == ctype.Invalid {
		if e := c.runtimeElement(x, a); e != nil {
			return e
		}
		c.failType(a)
	}
	if !isArray(a.Type()) || !a.Type().Strip().Fortran || !isLvalue(a) {
		return nil
	}
	dims := 0 // a text of characters is one value, unless nothing else can be meant
	for t := a.Type().Strip(); t.Kind == ctype.Array && t.Fortran && (dims == 0 || !isChar(t.Elem)); t = t.Elem.Strip() {
		dims++
	}
	if dims != len(x.Args) {
		c.fail(x.Span(), fmt.Sprintf("this array has %d dimensions", dims), "")
	}
	for n := len(x.Args) - 1; n >= 0; n-- {
		i := c.value(x.Args[n])
		s := a.Type().Strip()
		if !isInt(i.Type()) {
			c.fail(i.Span(), fmt.Sprintf("an index must be an integer, this is %s", typeString(i.Type())), "")
		}
		if v, ok := constInt(i); ok && s.Count >= 0 && (v < s.Lower || v >= s.Lower+s.Count) {
			c.fail(i.Span(), fmt.Sprintf("index %d is outside of %d:%d", v, s.Lower, s.Lower+s.Count-1), "")
		}
		a = c.elementOf(x, a, i)
	}
	return a
}
