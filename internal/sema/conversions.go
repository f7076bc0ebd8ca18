package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// conversions makes C's conversions of typed trees explicit.
type conversions struct{ *site }

// rvalue makes C's conversions of an operand: objects give their values, arrays
// and functions decay to pointers. Objects too large for a word (structs, long
// double, vectors, __int128) stay objects: they can only be collected.
func (cv *conversions) rvalue(e expr) expr {
	switch e.(type) {
	case *strLit:
		cv.fail(e.Span(), "a string literal has no address in the program",
			"a char pointer or array can be compared with it by == and !=")
	case *text:
		cv.fail(e.Span(), "the result of str() is text: it can be collected, or compared with a string literal",
			"for the pointer itself leave str() out")
	}
	if r, ok := e.(*repeat); ok && r.n != nil {
		cv.fail(e.Span(), "an array whose length is known only at the hit can be collected, but not used in arithmetic", "")
	}
	if !isLvalue(e) {
		return e
	}
	t := e.Type()
	switch {
	case isArray(t):
		return cv.decay(e)
	case isFunc(t):
		return cv.address(e, t)
	case isScalar(t):
		if isFloat(t) {
			cv.noFloat(e.Span())
		}
		cv.need(e)
		return &load{typed{t, e.Span()}, e}
	}
	return e
}

// decay gives the address of an array's first element.
func (cv *conversions) decay(e expr) expr { return cv.address(e, elemOf(e.Type())) }

// address gives the address of object e as a pointer to target.
func (cv *conversions) address(e expr, target *ctype.Type) expr {
	cv.needAddress(e)
	return &addrOf{typed{ctype.PointerTo(target), e.Span()}, e}
}

// number checks that e is a value for arithmetic; what names the purpose.
func (cv *conversions) number(e expr, op string) expr {
	if !isNumber(e.Type()) {
		cv.failOperand(e, "the operand of "+op+" must be a number, this is %s")
	}
	return e
}

// truth checks that e can be tested against zero, and gives its value.
func (cv *conversions) truth(e expr) expr {
	e = cv.rvalue(e)
	if !isScalar(e.Type()) {
		cv.failOperand(e, "a condition must be a number or a pointer, this is %s")
	}
	return e
}

// failOperand reports an operand of the wrong type; msg has one %s for the type.
func (cv *conversions) failOperand(e expr, msg string) {
	t := e.Type()
	s := t.Strip()
	hint := ""
	switch {
	case s.Kind == ctype.Float && s.Size != 4 && s.Size != 8, s.Kind == ctype.Complex,
		s.Kind == ctype.Array && s.Vector, s.IsInteger() && s.Size > 8:
		hint = "values of this type can be collected, but not used in arithmetic"
	case isRecord(t):
		if f := exampleMember(s); f != "" {
			hint = "name a member, as in ." + f
		}
	}
	cv.fail(e.Span(), fmt.Sprintf(msg, typeString(t)), hint)
}

func exampleMember(s *ctype.Type) string {
	for _, f := range s.Fields() {
		if f.Name != "" && !f.Base && f.Type.IsScalar() {
			return f.Name
		}
	}
	return ""
}

// convert gives e as a value of type t; both are scalar.
func convert(e expr, t *ctype.Type) expr {
	if e.Type() == t {
		return e
	}
	return &conv{typed{t, e.Span()}, e}
}

// promoted is the integer promotion of a number.
func promoted(e expr) expr {
	if isFloat(e.Type()) {
		return e
	}
	return convert(e, promote(e.Type(), bitField(e)))
}

// pointee is the object that pointer value e points to. Pointers into known
// objects give the part of the object itself, so that its location is used.
func (cv *conversions) pointee(e expr, span lang.Span) expr {
	elem := elemOf(e.Type())
	if isVoid(elem) {
		cv.fail(span, fmt.Sprintf("the target type of %s is unknown", typeString(e.Type())),
			"cast it to a pointer to the right type: *(struct s *)p")
	}
	switch a := e.(type) {
	case *addrOf:
		if same(a.x.Type(), elem) {
			return a.x
		}
		if isArray(a.x.Type()) && same(a.x.Type().Strip().Elem, elem) {
			if p := element(a.x, 0, span); p != nil {
				return p
			}
		}
	case *ptrAdd:
		if p := constElement(a, elem, span); p != nil {
			return p
		}
	}
	return &deref{typed{elem, span}, e}
}

func (cv *conversions) commonType(x *lang.Cond, a, b expr) *ctype.Type {
	ta, tb := a.Type(), b.Type()
	switch {
	case isNumber(ta) && isNumber(tb):
		return usual(promoted(a).Type(), promoted(b).Type())
	case isPointer(ta) && isPointer(tb):
		return commonPointer(a, b)
	case isPointer(ta) && isInt(tb):
		return ta
	case isInt(ta) && isPointer(tb):
		return tb
	case isVoid(ta) && isVoid(tb):
		return ctype.VoidT
	case same(ta, tb), isRecord(ta) && isRecord(tb) && ta.Strip().Kind == tb.Strip().Kind &&
		ta.Strip().Name == tb.Strip().Name && ta.Strip().Name != "" && ta.Strip().Size == tb.Strip().Size:
		return ta
	}
	cv.fail(x.Span(), fmt.Sprintf("the two results of ?: have incompatible types: %s and %s", typeString(ta), typeString(tb)), "")
	return nil
}
