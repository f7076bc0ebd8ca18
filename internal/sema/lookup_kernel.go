package sema

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// kernelArgument is argument n where the general rule does not apply; nil where it does.
func (lk *lookup) kernelArgument(n int, span lang.Span) expr {
	name := fmt.Sprintf("arg%d", n)
	if v, err := lk.in.Scope.Lookup(name); err == nil { // for $arg0: arg0 was looked up
		return lk.variable(v, span)
	}
	switch lk.in.Kernel.Context {
	case ContextRegs:
		return nil
	case ContextArgs:
		if n >= maxArgs {
			lk.fail(span, fmt.Sprintf("only arg0 to arg%d exist", maxArgs-1), "")
		}
		p := debuginfo.Piece{Kind: debuginfo.InContext, Ctx: int64(n) * 8}
		return &varRef{typed{ctype.ULongT, span}, name, debuginfo.Location{Pieces: []debuginfo.Piece{p}}, nil}
	}
	lk.fail(span, fmt.Sprintf("%s: this kind of place has no numbered arguments", name), withArguments)
	return nil
}

// returned is retval: the function's return value.
func (lk *lookup) returned(span lang.Span) expr {
	if lk.in.Kernel == nil || lk.in.Exit != nil {
		return lk.exitValue(span)
	}
	if v, err := lk.in.Scope.Lookup("retval"); err == nil {
		return lk.variable(v, span)
	}
	switch k := lk.in.Kernel; {
	case !k.Return:
		lk.failName("retval", span, nil)
	case k.Context != ContextRegs:
		lk.fail(span, "the return value is not available: the type of the function is unknown", "kretprobe: has it without the type")
	}
	return regRef(processor.Register(processor.Results[0]).Name, ctype.ULongT, int(processor.Results[0]), 0, span)
}

// exitValue is retval at an instruction by which a function of a process ends.
func (lk *lookup) exitValue(span lang.Span) expr {
	switch x := lk.in.Exit; {
	case x == nil:
		lk.failName("retval", span, nil)
	case x.Value == nil:
		lk.fail(span, "there is no return value: the function returns nothing", "")
	}
	if x := lk.in.Exit; x.Passed != 0 && x.Value.Loc.Unavailable == "" {
		return lk.atPassed(x.Value.Type, x.Passed, span)
	}
	return lk.variable(lk.in.Exit.Value, span)
}

// failKernelName reports an unknown name, and which names are known at the place.
func (lk *lookup) failKernelName(name string, span lang.Span, err error) {
	if name == "retval" {
		lk.fail(span, "there is no return value here", "kretprobe:, fexit: and uretprobe: places are at the return of a function")
	}
	where := " here"
	if f := lk.in.Scope.FuncName(); f != "" {
		where = " in " + f
	}
	fields, arguments := lk.knownNames()
	hint := join(listed("the fields are ", fields), listed("the arguments are ", arguments))
	if hint == "" && !lk.in.Scope.HasDebugInfo() && lk.in.Kernel.Context == ContextRegs {
		where += ": there is no debug information"
		hint = "registers (" + some(processor.Args[:2]...) + ") and, at a function's entry, arg0 to arg5 can be used"
	}
	if o := lk.in.Kernel.Other; o != nil {
		if has(o, name) {
			lk.fail(span, fmt.Sprintf("%q cannot be used together with the other names here", name),
				join("an expression takes its names either from the record's fields or from the arguments", hint))
		}
	}
	if lk.brief {
		lk.fail(span, fmt.Sprintf("no variable %q%s", name, where), "")
	}
	var nf *debuginfo.NotFoundError
	_, words := lk.wordsHere()
	near := lang.Nearest(name, append(append(append(lk.namesInScope(), fields...), arguments...), words...), 3)
	if errors.As(err, &nf) {
		_ = nf.Why()
		near = merged(nf.Nearest, near)
		hint = join(hint, nf.Hint)
	}
	lk.fail(span, fmt.Sprintf("no variable %q%s", name, where), join(cmp.Or(lk.wordFor(name), didYouMean(near)), hint))
}

// knownNames are the names of the record's fields and those of the arguments.
func (lk *lookup) knownNames() (fields, arguments []string) {
	here, other := namesOf(lk.in.Scope), []string(nil)
	if o := lk.in.Kernel.Other; o != nil {
		other = namesOf(o)
	}
	if lk.in.Kernel.Context == ContextRecord {
		return here, other
	}
	return other, here
}

// whatArgsHas returns a hint with the names allowed after args->.
func (lk *lookup) whatArgsHas(s *ctype.Type) string {
	what := "the arguments are "
	if lk.in.Kernel.Context == ContextRecord {
		what = "the fields are "
	}
	return listed(what, memberNames(s, 0))
}

// dynamicArray returns the array described by e's word in the record, or nil if e is not such a word. Outside
// the record the word has no meaning.
func (lk *lookup) dynamicArray(e expr) expr {
	elem, rel, ok := ctype.Dynamic(e.Type())
	if !ok || lk.in.Kernel == nil || !isLvalue(e) {
		return nil
	}
	s := shapeOf(e)
	if s.ref == nil || !s.ctx || s.lo%8 != 0 {
		return nil
	}
	off := s.ref.loc.Pieces[0].Ctx + s.lo/8
	if lk.uneval == 0 {
		lk.needContext(e, s.ref, off, 32)
	}
	return &dynamic{typed{ctype.ArrayOf(elem, -1), e.Span()}, off, rel}
}
