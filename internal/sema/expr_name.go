package sema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// ident gives a bare name its meaning: what the scope knows (variables, functions,
// enumerators, members of C++'s this), one of C's and C++'s constants, an argument
// register, a word; in this order.
func (c *checker) ident(x *lang.Ident) expr {
	e, err := debuginfo.Resolve(c.in.Scope, x.Name, false)
	if err == nil && e.Type == nil {
		if x.Name == "this" && e.Var != nil {
			return c.this(e.Var, x.Span())
		}
		return c.entity(e, x.Name, x.Span())
	}
	if err != nil {
		c.failMeaning(err, x.Span())
	}
	if e := c.throughThis(x); e != nil {
		return e
	}
	if k, ok := namedConstants[x.Name]; ok {
		return &intConst{typed: typed{k.t, x.Span()}, v: k.v}
	}
	if n, ok := argNumber(x.Name); ok {
		return c.argument(n, x.Span())
	}
	if w := c.bareWord(x.Name); w != nil {
		return w.inKernel.value(c, x.Span())
	}
	if err == nil || c.in.isType(x.Name) {
		c.failTypeAsValue(x.Name, x.Span())
	}
	c.failName(x.Name, x.Span(), err)
	return nil
}

// entity is the expression for what a name means.
func (c *checker) entity(e *debuginfo.Entity, name string, span lang.Span) expr {
	switch {
	case e.Var != nil:
		return c.variable(e.Var, span)
	case e.Enum != nil:
		return enumerator(e.Enum, e.Value, span)
	case e.Class != nil:
		return c.target(c.along(c.objectOf(e.Class, name, span), e.Found.Path, span))
	}
	c.failTypeAsValue(name, span)
	return nil
}

func (c *checker) failTypeAsValue(name string, span lang.Span) {
	d := c.from.At(span, fmt.Sprintf("%q is a type; expected a value", name), lang.TypeHint(name))
	panic(&bail{d: d})
}

// failMeaning reports a name that the language gives no meaning here, though it is known.
func (c *checker) failMeaning(err error, span lang.Span) {
	var ambiguous *debuginfo.AmbiguousError
	var misused *debuginfo.MisusedError
	switch {
	case errors.As(err, &ambiguous):
		c.fail(span, fmt.Sprintf("%q is ambiguous here", ambiguous.Name), "it may mean "+strings.Join(ambiguous.Candidates, " or "))
	case errors.As(err, &misused):
		c.fail(span, misused.Why, "")
	}
}

var namedConstants = map[string]struct {
	t *ctype.Type
	v int64
}{
	"true":    {ctype.BoolT, 1},
	"false":   {ctype.BoolT, 0},
	"NULL":    {voidPtrT, 0},
	"nullptr": {voidPtrT, 0},
}

// enumerator is a constant of C's type for enumerators: int, or the enum's own when int is too small.
func enumerator(t *ctype.Type, v int64, span lang.Span) expr {
	et := ctype.IntT
	if v != int64(int32(v)) {
		et = ofSize(8, t.Strip().Signed || v < 0, false)
		if t.Strip().Size == 4 && v == int64(uint32(v)) {
			et = ctype.UIntT
		}
	}
	return &intConst{typed: typed{et, span}, v: v, enum: t}
}

func (c *checker) failName(name string, span lang.Span, err error) {
	switch {
	case c.in.Kernel != nil:
		c.failKernelName(name, span, err)
	case name == "retval":
		c.fail(span, "the return value is not available yet at this site",
			"put the tracepoint on the line after the call, or collect $rax at the function's return")
	case !c.in.Scope.HasDebugInfo():
		c.fail(span, fmt.Sprintf("no variable %q here: there is no debug information", name),
			"registers ($rdi, $rsi, ...) and, at a function's entry, arg0 to arg5 can be used")
	}
	where := " here"
	if f := c.in.Scope.FuncName(); f != "" {
		where = " in " + f
	}
	c.failNotFound(span, fmt.Sprintf("no variable %q%s", name, where), err, c.namesInScope()...)
}

func (c *checker) namesInScope() []string {
	var names []string
	for _, list := range [][]*debuginfo.Variable{c.in.Scope.Args(), c.in.Scope.Locals()} {
		for _, v := range list {
			names = append(names, v.Name)
		}
	}
	return names
}

// variable is an lvalue for v. C++ references read as their targets.
func (c *checker) variable(v *debuginfo.Variable, span lang.Span) expr {
	if v.Type == nil {
		c.fail(span, fmt.Sprintf("the debug information has no type for %q", v.Name), "")
	}
	ref := &varRef{typed: typed{v.Type, span}, name: v.Name, loc: v.Loc}
	if v.Count != nil {
		ref.array = v
	}
	if v.Kind == debuginfo.PerCPU {
		return c.target(c.onCPU(ref))
	}
	return c.target(ref)
}

// target follows an lvalue of reference type, and one that says where a dynamic
// array of the record is.
func (c *checker) target(e expr) expr {
	if d := c.dynamicArray(e); d != nil {
		return d
	}
	s := e.Type().Strip()
	if s.Kind != ctype.Reference || s.Elem == nil {
		return e
	}
	c.need(e)
	ptr := &load{typed{ctype.PointerTo(s.Elem), e.Span()}, e}
	return &deref{typed{s.Elem, e.Span()}, ptr}
}

// throughThis finds a member of the object that C++'s this points to, for scopes
// that do not resolve names by themselves.
func (c *checker) throughThis(x *lang.Ident) expr {
	if _, ok := c.in.Scope.(debuginfo.Resolver); ok {
		return nil
	}
	v, err := c.in.Scope.Lookup("this")
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
	this := c.rvalue(c.variable(v, x.Span()))
	return c.memberOf(c.pointee(this, x.Span()), x.Name, x.Span(), x.Span())
}

// scoped is N::x, C::x, ::x, 'file.c'::x and f::x.
func (c *checker) scoped(x *lang.Scoped) expr {
	s := c.in.Scope
	var err error
	if _, ok := s.(debuginfo.Resolver); ok && !x.File {
		var e *debuginfo.Entity
		if e, err = debuginfo.Resolve(s, x.Scope+"::"+x.Name, false); err == nil {
			return c.entity(e, x.Scope+"::"+x.Name, x.Span())
		}
		c.failMeaning(err, x.Span())
	}
	where := x.Scope
	if err == nil {
		where = strings.TrimPrefix(where, "::")
	}
	v, inErr := s.LookupIn(where, x.Name)
	if inErr == nil {
		return c.variable(v, x.Span())
	}
	if err == nil {
		err = inErr
		if e := c.scopedPlainly(x); e != nil {
			return e
		}
	}
	if whole := x.Scope + "::" + x.Name; c.in.isType(whole) {
		c.failTypeAsValue(whole, x.Span())
	}
	where = fmt.Sprintf(" in %q", x.Scope)
	if x.Scope == "" {
		where = " with file scope"
	}
	c.failNotFound(x.Span(), fmt.Sprintf("no variable %q%s", x.Name, where), err)
	return nil
}

// scopedPlainly is for scopes that do not resolve names by themselves.
func (c *checker) scopedPlainly(x *lang.Scoped) expr {
	s := c.in.Scope
	if x.Scope == "" {
		if v, e := s.Lookup(x.Name); e == nil && (v.Kind == debuginfo.Global || v.Kind == debuginfo.Static) {
			return c.variable(v, x.Span())
		}
	}
	for _, name := range []string{x.Scope + "::" + x.Name, x.Name} {
		if t, val, ok := s.Enumerator(name); ok {
			return enumerator(t, val, x.Span())
		}
	}
	return nil
}

// argNumber recognises arg0, arg1, ...
func argNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "arg")
	if !ok || digits == "" || len(digits) > 2 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n, true
}

// argument is integer argument n by the ABI, an unsigned long as in bpftrace.
func (c *checker) argument(n int, span lang.Span) expr {
	if c.in.Kernel != nil {
		if e := c.kernelArgument(n, span); e != nil {
			return e
		}
	}
	if n >= len(processor.Args) {
		c.fail(span, fmt.Sprintf("only arg0 to arg%d are passed in registers", len(processor.Args)-1),
			fmt.Sprintf("at a function's entry, argument %d may be *(long*)($%s+%d)", n, processor.Register(processor.SP).Name, processor.ReturnSlot+8*int64(n-len(processor.Args))))
	}
	if !c.in.AtEntry && c.uneval == 0 {
		entry := "uprobe:PATH:FUNCTION"
		if k := c.in.Kernel; k != nil && !k.User {
			entry = "kprobe:FUNCTION"
		}
		c.fail(span, fmt.Sprintf("arg%d is known only at the first instruction of a function", n),
			"use the argument's name, or put the tracepoint at the entry: "+entry)
	}
	return regRef(fmt.Sprintf("arg%d", n), ctype.ULongT, int(processor.Args[n]), 0, span)
}
