package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// members reaches into objects: members of records, elements of arrays and vectors.
type members struct {
	*site
	*conversions
	*classes
	*operators
	*lookup
}

// memberOf returns member name of object e; namePos is the position of the name. The name may be qualified:
// Base::m.
func (mb *members) memberOf(e expr, name string, namePos, span lang.Span) expr {
	s := e.Type().Strip()
	m, err := debuginfo.Member(mb.in.Scope, s, name)
	switch {
	case err != nil:
		mb.failMeaning(err, namePos)
		if m := mb.embedded(e, name, namePos, span); m != nil {
			return m
		}
		mb.failMember(e, s, name, namePos)
	case m.Class == nil:
		return mb.entity(m, name, span)
	}
	return mb.target(mb.along(e, m.Found.Path, span))
}

func (mb *members) pointeeRecord(p expr, x *lang.Member) expr {
	if !isRecord(elemOf(p.Type())) {
		hint := ""
		if isVoid(elemOf(p.Type())) {
			hint = "cast it first: ((struct s *)p)->member"
		}
		mb.fail(x.X.Span(), fmt.Sprintf("%s does not point to a struct or union", typeString(p.Type())), hint)
	}
	return mb.pointee(p, x.X.Span())
}

func (mb *members) failMember(e expr, s *ctype.Type, name string, namePos lang.Span) {
	if s.Incomplete || s.Size == 0 && len(s.Fields()) == 0 {
		mb.failSize(e.Span(), e.Type())
	}
	hint := didYouMean(lang.Nearest(name, memberNames(s, 0), 3))
	if s.Variants() != nil {
		hint = "its variant is known only at the hit; collect the whole value"
	}
	if v, ok := e.(*varRef); ok && hint == "" && v.name == "args" && mb.in.Kernel != nil {
		hint = mb.whatArgsHas(s)
	}
	mb.fail(namePos, fmt.Sprintf("%s has no member %q", tagged(s), name), hint)
}

// elementOf is element b of array or pointer a.
func (mb *members) elementOf(x lang.Expr, a, b expr) expr {
	if isArray(a.Type()) && isLvalue(a) {
		b = mb.fromZero(a, mb.rvalue(b))
		if e := mb.arrayElement(x, a, b); e != nil {
			return e
		}
	}
	if n, ok := constInt(b); ok && isInt(b.Type()) {
		if o := mb.synthetic(a, n, x.Span()); o != nil {
			return mb.target(o)
		}
	} else if o := mb.chosenBehind(a, b, x.Span()); o != nil {
		return o
	}
	a, b = mb.rvalue(a), mb.rvalue(b)
	if !isPointer(a.Type()) || !isInt(b.Type()) {
		hint := ""
		if isRecord(a.Type()) {
			hint = "operators of the program cannot be called at a site"
			if f := exampleMember(a.Type().Strip()); f != "" {
				hint += "; name a member, as in ." + f
			}
		}
		if a.Type() == vec128T {
			hint = "name the lanes: .v4_float[1], .v2_double[0], .v4_int32[3], ..."
		}
		mb.fail(x.Span(), fmt.Sprintf("[] needs a pointer or array and an integer, these are %s and %s",
			typeString(a.Type()), typeString(b.Type())), hint)
	}
	return mb.target(mb.pointee(mb.pointerAdd(x, a, b, false), x.Span()))
}

// fromZero is index i of array a counted from its first element.
func (mb *members) fromZero(a, i expr) expr {
	lower := a.Type().Strip().Lower
	if lower == 0 || !isInt(i.Type()) {
		return i
	}
	first := typed{ctype.LongT, i.Span()}
	if n, ok := constInt(i); ok {
		return &intConst{typed: first, v: n - lower}
	}
	return &arith{first, "-", convert(promoted(i), ctype.LongT), &intConst{typed: first, v: lower}}
}

// arrayElement is an element with a constant index, wherever the array lives;
// nil when the general rule applies.
func (mb *members) arrayElement(x lang.Expr, a, i expr) expr {
	if r, ok := a.(*repeat); ok && r.n != nil {
		return nil // refused by rvalue
	}
	n, isConst := constInt(i)
	if isConst && isInt(i.Type()) {
		if e := element(a, n, x.Span()); e != nil {
			return mb.target(e)
		}
	}
	if !mb.hasAddress(a) {
		if isConst {
			mb.fail(x.Span(), fmt.Sprintf("index %d is outside the array, which has %d elements and is not in memory here",
				n, a.Type().Strip().Count), "")
		}
		t := a.Type().Strip()
		if e := mb.chosen(i, 0, t.Count, t.Elem, x.Span(), func(k int64) expr { return element(a, k, x.Span()) }); e != nil && mb.uneval == 0 {
			return e
		}
		const msg = "this array is not in memory here: only a constant index can be used"
		panic(&bail{d: mb.from.At(x.Span(), msg, ""), unavailable: true, undescribed: true, otherwise: true, why: msg})
	}
	return nil
}

func (mb *members) vectorElement(x *lang.Index, a, i expr) expr {
	n, ok := constInt(i)
	s := a.Type().Strip()
	if !ok || !isInt(i.Type()) {
		mb.fail(x.I.Span(), "the index of a vector must be a constant", "")
	}
	e := element(a, n, x.Span())
	if e == nil {
		mb.fail(x.I.Span(), fmt.Sprintf("index %d is outside the vector, which has %d elements", n, s.Count), "")
	}
	return e
}

// throughThis finds a member of the object that C++'s this points to, for scopes
// that do not resolve names by themselves.
func (mb *members) throughThis(x *lang.Ident) expr {
	if _, ok := mb.in.Scope.(debuginfo.Resolver); ok {
		return nil
	}
	v, err := mb.in.Scope.Lookup("this")
	if err != nil || v.Type == nil {
		return nil
	}
	s := v.Type.Strip()
	if s.Kind != ctype.Pointer || s.Elem == nil || !isRecord(s.Elem) {
		return nil
	}
	if _, res, _ := s.Elem.Member(x.Name, false, nil); res == ctype.Absent {
		return nil
	}
	this := mb.rvalue(mb.variable(v, x.Span()))
	return mb.memberOf(mb.pointee(this, x.Span()), x.Name, x.Span(), x.Span())
}
