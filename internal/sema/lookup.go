package sema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// lookup finds what names mean, as variables, types and members of this.
type lookup struct {
	*site
	*conversions
	*classes
}

// entity is the expression for what a name means.
func (lk *lookup) entity(e *debuginfo.Entity, name string, span lang.Span) expr {
	switch {
	case e.Var != nil:
		return lk.variable(e.Var, span)
	case e.Enum != nil:
		return enumerator(e.Enum, e.Value, span)
	case e.Class != nil:
		return lk.target(lk.along(lk.objectOf(e.Class, name, span), e.Found.Path, span))
	}
	lk.failTypeAsValue(name, span)
	return nil
}

func (lk *lookup) failTypeAsValue(name string, span lang.Span) {
	d := lk.from.At(span, fmt.Sprintf("%q is a type; expected a value", name), lang.TypeHint(name))
	panic(&bail{d: d})
}

// failMeaning reports a name that the language gives no meaning here, though it is known.
func (lk *lookup) failMeaning(err error, span lang.Span) {
	var ambiguous *debuginfo.AmbiguousError
	var misused *debuginfo.MisusedError
	switch {
	case errors.As(err, &ambiguous):
		lk.fail(span, fmt.Sprintf("%q is ambiguous here", ambiguous.Name), "it may mean "+strings.Join(ambiguous.Candidates, " or "))
	case errors.As(err, &misused):
		lk.fail(span, misused.Why, "")
	}
}

func (lk *lookup) failName(name string, span lang.Span, err error) {
	switch {
	case lk.in.Kernel != nil:
		lk.failKernelName(name, span, err)
	case name == "retval":
		lk.fail(span, "the return value is not available yet at this site",
			"FUNCTION%return is a place at the returns of a function")
	case !lk.in.Scope.HasDebugInfo():
		lk.fail(span, fmt.Sprintf("no variable %q here: there is no debug information", name),
			"registers ($rdi, $rsi, ...) and, at a function's entry, arg0 to arg5 can be used")
	}
	msg := lk.noVariable(name)
	if lk.brief {
		lk.fail(span, msg, "")
	}
	hint := lk.wordFor(name)
	if hint == "" {
		hint = lk.membersNamed(name)
	}
	if hint == "" && len(name) > 2 { // every short name resembles others
		hint = notFoundHint(err, lk.namesInScope()...)
	}
	if hint == "" {
		hint = lk.visible()
	}
	lk.fail(span, msg, hint)
}

func (lk *lookup) noVariable(name string) string {
	where := " here"
	if f := lk.in.Scope.FuncName(); f != "" {
		where = " in " + f
	}
	return fmt.Sprintf("no variable %q%s", name, where)
}

// foreignWords are names that other tracers and GDB have for what jalon has a word for.
var foreignWords = map[string]string{
	"backtrace": "bt", "stack": "bt", "stacktrace": "bt", "kstack": "bt", "ustack": "ubt", "arguments": "args", "registers": "regs",
	"return": "retval", "ret": "retval", "result": "retval", "current": "task", "curtask": "task", "latency": "elapsed", "duration": "elapsed",
	"execname": "comm", "timestamp": "time",
}

// wordFor is a hint for a name that is a word without its dollar, or the word of another tool.
func (lk *lookup) wordFor(name string) string {
	words, _ := lk.wordsHere()
	word := name
	if w, ok := foreignWords[name]; ok {
		word = w
	}
	if word == "ubt" && !slices.Contains(words, word) { // at places in a program $bt is the program's
		word = "bt"
	}
	atReturns := lk.in.Kernel == nil && lk.in.Exit == nil
	switch {
	case atReturns && word == "retval":
		return "the value that a function returns is $retval, at the place FUNCTION%return"
	case atReturns && word == "elapsed":
		return "the time of a call is $elapsed, at the place FUNCTION%return"
	case slices.Contains(words, word):
		return didYouMean([]string{"$" + word})
	}
	return ""
}

// membersNamed returns a hint if variables in scope have a member of that name.
func (lk *lookup) membersNamed(name string) string {
	var list []string
	for _, v := range lk.variablesInScope() {
		if v.Type == nil {
			continue
		}
		t, access := v.Type.Strip(), "."
		if t.Kind == ctype.Pointer || t.Kind == ctype.Reference {
			if t.Kind == ctype.Pointer {
				access = "->"
			}
			t = t.Elem.Strip()
		}
		if t == nil || !isRecord(t) {
			continue
		}
		if _, ok := findField(t, name); ok {
			list = append(list, v.Name+access+name)
		}
	}
	return didYouMean(list)
}

// visible lists the variables in scope, if there are few.
func (lk *lookup) visible() string {
	const most = 12
	names := lk.namesInScope()
	more := ""
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	if len(names) == 0 {
		return ""
	}
	return "variables here: " + strings.Join(names, ", ") + more
}

func (lk *lookup) variablesInScope() []*debuginfo.Variable {
	return append(slices.Clone(lk.in.Scope.Args()), lk.in.Scope.Locals()...)
}

func (lk *lookup) namesInScope() []string {
	var names []string
	for _, v := range lk.variablesInScope() {
		names = append(names, v.Name)
	}
	return names
}

// variable is an lvalue for v. C++ references read as their targets.
func (lk *lookup) variable(v *debuginfo.Variable, span lang.Span) expr {
	if v.Type == nil {
		lk.fail(span, fmt.Sprintf("the debug information has no type for %q", v.Name), "")
	}
	if symbol := v.Loc.Symbol; symbol != "" {
		if o := lk.ofOther(symbol, v, span); o != nil {
			v = o
		}
	}
	ref := &varRef{typed: typed{v.Type, span}, name: v.Name, loc: v.Loc}
	if v.Count != nil {
		ref.array = v
	}
	if v.Kind == debuginfo.PerCPU {
		return lk.target(lk.onCPU(ref))
	}
	return lk.target(ref)
}

// ofOther describes a variable of another module; nil if no module has it.
func (lk *lookup) ofOther(symbol string, known *debuginfo.Variable, span lang.Span) *debuginfo.Variable {
	if lk.in.Others.Variable == nil || lk.in.GoCode {
		return nil
	}
	v, err := lk.in.Others.Variable(symbol, known)
	switch {
	case err != nil && known == nil:
		lk.fail(span, lk.noVariable(symbol), err.Error())
	case err != nil:
		cp := *known
		cp.Loc = debuginfo.Location{Unavailable: err.Error()}
		return &cp
	case v != nil && v.Of != "" && lk.in.Kernel == nil:
		lk.warn(span, fmt.Sprintf("%q is the one of %s (%s:%d)", symbol, v.Of, v.File, v.Line), "")
	}
	return v
}

// target follows an lvalue of reference type, and one that says where a dynamic
// array of the record is.
func (lk *lookup) target(e expr) expr {
	if d := lk.dynamicArray(e); d != nil {
		return d
	}
	s := e.Type().Strip()
	if s.Kind != ctype.Reference || s.Elem == nil {
		return e
	}
	if o := lk.synthetic(e, 0, e.Span()); o != nil {
		return o
	}
	lk.need(e)
	ptr := &load{typed{ctype.PointerTo(s.Elem), e.Span()}, e}
	return &deref{typed{s.Elem, e.Span()}, ptr}
}

// argument is integer argument n by the ABI, an unsigned long as in bpftrace.
func (lk *lookup) argument(n int, span lang.Span) expr {
	if lk.in.Kernel != nil {
		if e := lk.kernelArgument(n, span); e != nil {
			return e
		}
	}
	if n >= len(processor.Args) {
		lk.fail(span, fmt.Sprintf("only arg0 to arg%d are passed in registers", len(processor.Args)-1),
			fmt.Sprintf("at a function's entry, argument %d may be *(long*)($%s+%d)", n, processor.Register(processor.SP).Name, processor.ReturnSlot+8*int64(n-len(processor.Args))))
	}
	if lk.in.GoCode && lk.uneval == 0 {
		lk.fail(span, fmt.Sprintf("arg%d is an argument by the calling convention of C, and this is Go code", n), "use the parameter's name; $args has all of them")
	}
	if !lk.in.AtEntry && lk.uneval == 0 {
		entry := "uprobe:PATH:FUNCTION"
		if k := lk.in.Kernel; k != nil && !k.User {
			entry = "kprobe:FUNCTION"
		}
		lk.fail(span, fmt.Sprintf("arg%d is known only at the first instruction of a function", n),
			"use the argument's name, or put the tracepoint at the entry: "+entry)
	}
	return regRef(fmt.Sprintf("arg%d", n), ctype.ULongT, int(processor.Args[n]), 0, span)
}

// scopedPlainly is for scopes that do not resolve names by themselves.
func (lk *lookup) scopedPlainly(x *lang.Scoped) expr {
	s := lk.in.Scope
	if x.Scope == "" {
		if v, e := s.Lookup(x.Name); e == nil && (v.Kind == debuginfo.Global || v.Kind == debuginfo.Static) {
			return lk.variable(v, x.Span())
		}
	}
	for _, name := range []string{x.Scope + "::" + x.Name, x.Name} {
		if t, val, ok := s.Enumerator(name); ok {
			return enumerator(t, val, x.Span())
		}
	}
	return nil
}

// typeOf resolves a type as written in a cast or sizeof.
func (lk *lookup) typeOf(tn *lang.TypeName) *ctype.Type {
	t := lk.specifiedType(tn)
	for _, d := range tn.Derive {
		switch {
		case d.Pointer:
			t = ctype.PointerTo(t)
		case d.Func:
			t = lk.functionType(t, d)
		case t.Strip().Kind == ctype.Void || t.Strip().Kind == ctype.Func:
			lk.fail(tn.Pos, fmt.Sprintf("an array of %s is not a type", typeString(t)), "")
		case t.Size > 0 && d.Array > 1<<40/t.Size:
			lk.fail(tn.Pos, "the array is too large", "")
		default:
			t = ctype.ArrayOf(t, d.Array)
		}
	}
	return t
}

func (lk *lookup) functionType(result *ctype.Type, d lang.Derivation) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Func, Elem: result, Variadic: d.Variadic}
	for _, p := range d.Params {
		t.Params = append(t.Params, lk.typeOf(p))
	}
	return t
}

func (lk *lookup) specifiedType(tn *lang.TypeName) *ctype.Type {
	if tn.Tag == "" {
		if tn.Name == "char" {
			return lk.plainChar()
		}
		if t := builtinType(tn.Name); t != nil {
			return t
		}
		if t := namedType(lk.in.Scope, tn.Name); t != nil {
			return t
		}
		_, err := lk.in.Scope.Type(ctype.Typedef, tn.Name)
		lk.failMeaning(err, tn.Pos)
		lk.failNotFound(tn.Pos, fmt.Sprintf("no type %q in the program", tn.Name), err)
	}
	t, err := lk.in.Scope.Type(tagKinds[tn.Tag], tn.Name)
	if err == nil {
		return t
	}
	lk.failMeaning(err, tn.Pos)
	for _, tag := range []string{"struct", "union", "enum"} {
		if _, e := lk.in.Scope.Type(tagKinds[tag], tn.Name); e == nil {
			lk.fail(tn.Pos, fmt.Sprintf("%q is not a %s", tn.Name, tn.Tag), fmt.Sprintf("write %s %s", tag, tn.Name))
		}
	}
	lk.failNotFound(tn.Pos, fmt.Sprintf("no type \"%s %s\" in the program", tn.Tag, tn.Name), err)
	return nil
}

// objectOf is the object of that class which the function's code means by this, for
// a bare member name.
func (lk *lookup) objectOf(class *ctype.Type, name string, span lang.Span) expr {
	if v, err := lk.in.Scope.Lookup("this"); err == nil && v.Type != nil {
		e := lk.variable(v, span)
		for range 4 { // closures in closures
			if e = lk.objectBehind(e, span); e == nil {
				break
			}
			if part := lk.basePart(e, class, span); part != nil {
				return part
			}
			captured := capturedThis(e.Type())
			if captured == "" {
				break
			}
			f, _ := findField(e.Type(), captured)
			e = &sub{typed: typed{f.Type, span}, x: e, bitOff: f.BitOffset}
		}
	}
	if lk.uneval > 0 {
		null := &intConst{typed: typed{ctype.PointerTo(class), span}}
		return &deref{typed{class, span}, null}
	}
	lk.fail(span, fmt.Sprintf("%q is a member of %s, but there is no object of this class here", name, tagged(class)),
		"write p->"+name+" with a pointer to one")
	return nil
}

// objectBehind is the record that e is or points to; nil when it is neither.
func (lk *lookup) objectBehind(e expr, span lang.Span) expr {
	if isPointer(e.Type()) && isRecord(elemOf(e.Type())) {
		if o := lk.synthetic(e, 0, span); o != nil {
			return o
		}
		return lk.pointee(lk.rvalue(e), span)
	}
	if isRecord(e.Type()) {
		return e
	}
	return nil
}

// this is the keyword. In a lambda it is the captured one; compilers may use the
// name for the closure itself.
func (lk *lookup) this(v *debuginfo.Variable, span lang.Span) expr {
	e := lk.variable(v, span)
	for range 4 {
		if !isPointer(e.Type()) || !isRecord(elemOf(e.Type())) {
			break
		}
		captured := capturedThis(elemOf(e.Type()))
		if captured == "" {
			break
		}
		f, _ := findField(elemOf(e.Type()), captured)
		part := &sub{typed: typed{f.Type, span}, x: lk.pointee(lk.rvalue(e), span), bitOff: f.BitOffset}
		if isRecord(f.Type) { // [*this]
			return lk.address(part, f.Type)
		}
		e = part
	}
	return e
}

// capturedThis is the member in which a lambda's closure keeps the this of the
// function around it, "" when the type is none or has not captured it.
func capturedThis(t *ctype.Type) string {
	for _, name := range []string{"this", "__this"} {
		if _, ok := findField(t.Strip(), name); ok {
			return name
		}
	}
	return ""
}
