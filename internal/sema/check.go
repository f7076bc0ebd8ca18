package sema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// checker turns syntax trees into typed trees. A diagnostic ends the expression
// in work: fail unwinds to guard, which keeps the diagnostic and lets the next
// expression be checked.
type checker struct {
	in       *Input
	from     lang.Text // what the expression in work is written in
	inCond   bool
	brief    bool   // only whether it is right is asked, not what is wrong with it
	cpu      *cpuOf // set while the operand of this_cpu or per_cpu is checked
	uneval   int    // > 0 inside sizeof: nothing is evaluated, so locations are not needed
	errs     lang.Diagnostics
	warnings []*lang.Diagnostic
}

// bail carries a diagnostic from fail to guard; why says in words that a
// variable has no value here.
type bail struct {
	d           *lang.Diagnostic
	unavailable bool
	why         string
}

// fail ends the expression in work with a diagnostic.
func (c *checker) fail(span lang.Span, msg, hint string) {
	panic(&bail{d: c.from.At(span, msg, hint)})
}

// textOf is what the user wrote there.
func (c *checker) textOf(s lang.Span) string { return c.from.Whole[s.Lo:s.Hi] }

// try runs f and returns what ended it, or nil.
func (c *checker) try(f func()) (failed *bail) {
	uneval, cpu := c.uneval, c.cpu
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(*bail)
			if !ok {
				panic(r)
			}
			c.uneval, c.cpu = uneval, cpu
			failed = b
		}
	}()
	f()
	return nil
}

// guard runs f; a diagnostic that ends it is kept with the others.
func (c *checker) guard(f func()) {
	if b := c.try(f); b != nil {
		c.errs = append(c.errs, b.d)
	}
}

func (c *checker) warn(span lang.Span, msg, hint string) {
	c.warnings = append(c.warnings, c.from.At(span, msg, hint))
}

// failNotFound reports a name that means nothing here, with the nearest names.
func (c *checker) failNotFound(span lang.Span, msg string, err error, more ...string) {
	var nf *debuginfo.NotFoundError
	hint := ""
	if c.brief {
		c.fail(span, msg, "")
	}
	if errors.As(err, &nf) {
		nf.Why()
		hint = didYouMean(nf.Nearest)
		if hint == "" {
			hint = didYouMean(lang.Nearest(nf.Name, more, 3))
		}
		if nf.Hint != "" {
			hint = join(hint, nf.Hint)
		}
	} else if err != nil {
		hint = err.Error()
	}
	c.fail(span, msg, hint)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	q := make([]string, 0, 3)
	for _, n := range names[:min(3, len(names))] {
		q = append(q, fmt.Sprintf("%q", n))
	}
	return "did you mean " + strings.Join(q, " or ") + "?"
}

// condition checks a controlling expression.
func (c *checker) condition(x lang.Expr) expr {
	e := c.truth(c.expr(x))
	if v, ok := constInt(e); ok {
		word := "true"
		if v == 0 {
			word = "false"
		}
		c.warn(e.Span(), "the condition is always "+word, "")
	}
	return e
}

// truth checks that e can be tested against zero, and gives its value.
func (c *checker) truth(e expr) expr {
	e = c.rvalue(e)
	if !isScalar(e.Type()) {
		c.failOperand(e, "a condition must be a number or a pointer, this is %s")
	}
	return e
}

// expr checks x and gives an lvalue or a value, without lvalue conversion.
func (c *checker) expr(x lang.Expr) expr {
	switch x := x.(type) {
	case *lang.Ident:
		return c.ident(x)
	case *lang.Scoped:
		return c.scoped(x)
	case *lang.Reg:
		return c.reg(x)
	case *lang.IntLit:
		return c.intLit(x)
	case *lang.FloatLit:
		c.noFloat(x.Span())
		return floatLit(x)
	case *lang.CharLit:
		return &intConst{typed: typed{ctype.IntT, x.Span()}, v: x.Value}
	case *lang.StringLit:
		return &strLit{typed{ctype.ArrayOf(ctype.CharT, int64(len(x.Value))+1), x.Span()}, x.Value}
	case *lang.Unary:
		return c.unary(x)
	case *lang.Binary:
		return c.binary(x)
	case *lang.Cond:
		return c.cond(x)
	case *lang.Cast:
		return c.cast(x)
	case *lang.Sizeof:
		return c.sizeof(x)
	case *lang.Index:
		return c.index(x)
	case *lang.Member:
		return c.member(x)
	case *lang.Repeat:
		return c.repeat(x)
	case *lang.Call:
		return c.call(x)
	case *lang.Assign:
		return c.assign(x)
	case nil:
		panic("BUG: sema: nil expression")
	}
	panic(fmt.Sprintf("BUG: sema: no rule for %T", x))
}

// value checks x and converts it to a value.
func (c *checker) value(x lang.Expr) expr { return c.rvalue(c.expr(x)) }

// rvalue makes C's conversions of an operand: objects give their values, arrays
// and functions decay to pointers. Objects too large for a word (structs, long
// double, vectors, __int128) stay objects: they can only be collected.
func (c *checker) rvalue(e expr) expr {
	switch e.(type) {
	case *strLit:
		c.fail(e.Span(), "a string literal has no address in the program",
			"a char pointer or array can be compared with it by == and !=")
	case *text:
		c.fail(e.Span(), "the result of str() is text: it can be collected, or compared with a string literal",
			"for the pointer itself leave str() out")
	}
	if r, ok := e.(*repeat); ok && r.n != nil {
		c.fail(e.Span(), "an array whose length is known only at the hit can be collected, but not used in arithmetic", "")
	}
	if !isLvalue(e) {
		return e
	}
	t := e.Type()
	switch {
	case isArray(t):
		return c.decay(e)
	case isFunc(t):
		return c.address(e, t)
	case isScalar(t):
		if isFloat(t) {
			c.noFloat(e.Span())
		}
		c.need(e)
		return &load{typed{t, e.Span()}, e}
	}
	return e
}

// decay gives the address of an array's first element.
func (c *checker) decay(e expr) expr { return c.address(e, elemOf(e.Type())) }

// address gives the address of object e as a pointer to target.
func (c *checker) address(e expr, target *ctype.Type) expr {
	c.needAddress(e)
	return &addrOf{typed{ctype.PointerTo(target), e.Span()}, e}
}

// number checks that e is a value we can compute with; what says for which purpose.
func (c *checker) number(e expr, op string) expr {
	if !isNumber(e.Type()) {
		c.failOperand(e, "the operand of "+op+" must be a number, this is %s")
	}
	return e
}

// failOperand reports an operand of the wrong type; msg has one %s for the type.
func (c *checker) failOperand(e expr, msg string) {
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
	c.fail(e.Span(), fmt.Sprintf(msg, typeString(t)), hint)
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
