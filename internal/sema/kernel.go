package sema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// What the kind of place gives and what it does not.

const (
	noRegistersHere = "registers are not there at this kind of place"
	withRegisters   = "kprobe:, kretprobe:, uprobe:, uretprobe:, usdt:, profile:, interval:, software: and hardware: places have them"
	withArguments   = "kprobe:, uprobe:, rawtracepoint:, fentry: and fexit: places have them"
)

// noRegisters says why a location that needs registers gives no value, or "".
func (c *checker) noRegisters() string {
	if k := c.in.Kernel; k != nil && k.Context != ContextRegs {
		return noRegistersHere
	}
	return ""
}

// userReturn means that the site is the return of a user function in a relocated image. The instruction pointer
// is the caller's, so the load bias cannot be computed from it.
func (c *checker) userReturn() bool {
	k := c.in.Kernel
	return k != nil && k.User && k.Return && !k.Fixed
}

// needRegister makes sure that the register of variable v's piece can be read.
func (c *checker) needRegister(e expr, v *varRef, reg int) {
	if c.in.Kernel == nil {
		return
	}
	if why := c.noRegisters(); why != "" {
		c.failUnavailable(e, v, why)
	}
	if isXMM(reg) {
		c.failUnavailable(e, v, "it is in a vector register, which is not available in the kernel")
	}
}

// needRegisters makes sure that the user's register can be read.
func (c *checker) needRegisters(x *lang.Reg) {
	r := registers[x.Name]
	switch {
	case c.in.Kernel == nil || c.uneval > 0:
	case c.in.Kernel.Context != ContextRegs:
		c.fail(x.Span(), fmt.Sprintf("$%s: %s", x.Name, noRegistersHere), withRegisters)
	case isXMM(r.dwarf):
		c.fail(x.Span(), fmt.Sprintf("$%s: vector registers are not available in the kernel", x.Name), "the integer registers are: "+some(processor.Results[0], processor.Args[0]))
	case !inPtRegs(r.dwarf) && r.dwarf != int(processor.ThreadPointer):
		c.fail(x.Span(), fmt.Sprintf("$%s is not available in the kernel", x.Name), "for per-CPU data write this_cpu(x)")
	}
}

// inPtRegs: the kernel keeps the register in struct pt_regs.
func inPtRegs(reg int) bool {
	_, ok := processor.PtRegs(arch.Reg(reg))
	return ok
}

// commonBytes are the first bytes of a tracepoint's record, which a program does not see.
const commonBytes = 8

// needContext makes sure that object e, bits at byte off of the context block, is there.
func (c *checker) needContext(e expr, v *varRef, off, bits int64) {
	k := c.in.Kernel
	switch {
	case k == nil || off < 0:
		c.failUnavailable(e, v, "its location is malformed in the debug information")
	case k.Context == ContextNone:
		c.failUnavailable(e, v, "this kind of place has no arguments")
	case k.Context == ContextRecord && off*8+bits <= commonBytes*8:
		c.failUnavailable(e, v, "eBPF programs cannot read the first 8 bytes of a record; use $tid and $cpu")
	}
}

// noFloat refuses to compute with floating-point numbers.
func (c *checker) noFloat(span lang.Span) {
	if c.in.Kernel != nil && c.uneval == 0 {
		c.fail(span, "floating-point numbers cannot be used in arithmetic in the kernel", "they can be collected")
	}
}

// kernelOnly refuses what only the kernel engine can give.
func (c *checker) kernelOnly(what string, span lang.Span) {
	if c.in.Kernel == nil {
		c.fail(span, what+" is known at places of the kernel engine only", "these are tracepoint:, kprobe:, ..., and uprobe: with --all")
	}
}

// kernelArgument is argument n where the general rule does not apply; nil where it does.
func (c *checker) kernelArgument(n int, span lang.Span) expr {
	name := fmt.Sprintf("arg%d", n)
	if v, err := c.in.Scope.Lookup(name); err == nil { // for $arg0: arg0 was looked up
		return c.variable(v, span)
	}
	switch c.in.Kernel.Context {
	case ContextRegs:
		return nil
	case ContextArgs:
		if n >= maxArgs {
			c.fail(span, fmt.Sprintf("only arg0 to arg%d exist", maxArgs-1), "")
		}
		p := debuginfo.Piece{Kind: debuginfo.InContext, Ctx: int64(n) * 8}
		return &varRef{typed{ctype.ULongT, span}, name, debuginfo.Location{Pieces: []debuginfo.Piece{p}}, nil}
	}
	c.fail(span, fmt.Sprintf("%s: this kind of place has no numbered arguments", name), withArguments)
	return nil
}

// maxArgs is how many words a raw tracepoint has at most (MAX_BPF_FUNC_ARGS).
const maxArgs = 12

// returned is retval: what the function gives back.
func (c *checker) returned(span lang.Span) expr {
	if v, err := c.in.Scope.Lookup("retval"); err == nil {
		return c.variable(v, span)
	}
	switch k := c.in.Kernel; {
	case !k.Return:
		c.failName("retval", span, nil)
	case k.Context != ContextRegs:
		c.fail(span, "the return value is not available: the type of the function is unknown", "kretprobe: has it without the type")
	}
	return regRef(processor.Register(processor.Results[0]).Name, ctype.ULongT, int(processor.Results[0]), 0, span)
}

// failKernelName reports an unknown name, and which names are known at the place.
func (c *checker) failKernelName(name string, span lang.Span, err error) {
	if name == "retval" {
		c.fail(span, "there is no return value here", "kretprobe:, fexit: and uretprobe: places are at the return of a function")
	}
	where := " here"
	if f := c.in.Scope.FuncName(); f != "" {
		where = " in " + f
	}
	fields, arguments := c.knownNames()
	hint := join(listed("the fields are ", fields), listed("the arguments are ", arguments))
	if hint == "" && !c.in.Scope.HasDebugInfo() && c.in.Kernel.Context == ContextRegs {
		where += ": there is no debug information"
		hint = "registers (" + some(processor.Args[:2]...) + ") and, at a function's entry, arg0 to arg5 can be used"
	}
	if o := c.in.Kernel.Other; o != nil {
		if has(o, name) {
			c.fail(span, fmt.Sprintf("%q cannot be used together with the other names here", name),
				join("an expression takes its names either from the record's fields or from the arguments", hint))
		}
	}
	if c.brief {
		c.fail(span, fmt.Sprintf("no variable %q%s", name, where), "")
	}
	var nf *debuginfo.NotFoundError
	_, words := c.wordsHere()
	near := lang.Nearest(name, append(append(append(c.namesInScope(), fields...), arguments...), words...), 3)
	if errors.As(err, &nf) {
		nf.Why()
		near = merged(nf.Nearest, near)
		hint = join(hint, nf.Hint)
	}
	c.fail(span, fmt.Sprintf("no variable %q%s", name, where), join(didYouMean(near), hint))
}

// merged is a, and of b what is not in a.
func merged(a, b []string) []string {
	out := append([]string(nil), a...)
	for _, n := range b {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// knownNames are the names of the record's fields and those of the arguments.
func (c *checker) knownNames() (fields, arguments []string) {
	here, other := namesOf(c.in.Scope), []string(nil)
	if o := c.in.Kernel.Other; o != nil {
		other = namesOf(o)
	}
	if c.in.Kernel.Context == ContextRecord {
		return here, other
	}
	return other, here
}

// namesOf are the members of args, and the arguments that are no such members.
func namesOf(s debuginfo.Scope) (names []string) {
	if v, err := s.Lookup("args"); err == nil && v.Type != nil {
		names = memberNames(v.Type.Strip(), 0)
	}
	for _, v := range s.Args() {
		if v.Name != "args" {
			names = merged(names, []string{v.Name})
		}
	}
	return names
}

// whatArgsHas returns a hint with the names allowed after args->.
func (c *checker) whatArgsHas(s *ctype.Type) string {
	what := "the arguments are "
	if c.in.Kernel.Context == ContextRecord {
		what = "the fields are "
	}
	return listed(what, memberNames(s, 0))
}

const maxListed = 24 // names in a hint

func listed(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > maxListed {
		names, more = names[:maxListed], ", ..."
	}
	return what + strings.Join(names, ", ") + more
}

// dynamicArray returns the array described by e's word in the record, or nil if e is not such a word. Outside
// the record the word has no meaning.
func (c *checker) dynamicArray(e expr) expr {
	elem, rel, ok := ctype.Dynamic(e.Type())
	if !ok || c.in.Kernel == nil || !isLvalue(e) {
		return nil
	}
	s := shapeOf(e)
	if s.ref == nil || !s.ctx || s.lo%8 != 0 {
		return nil
	}
	off := s.ref.loc.Pieces[0].Ctx + s.lo/8
	if c.uneval == 0 {
		c.needContext(e, s.ref, off, 32)
	}
	return &dynamic{typed{ctype.ArrayOf(elem, -1), e.Span()}, off, rel}
}

// maxDynamic bounds a dynamic array: its length has 16 bits.
const maxDynamic = 1<<16 - 1

// takeDynamic takes as much of a dynamic array as the limits allow.
func (c *checker) takeDynamic(x *dynamic) *plan {
	p := plain(asDynamic, x, x.t)
	elem := elemOf(x.t)
	size := c.elemSize(x.span, elem)
	if size == 0 || isVoid(elem) {
		c.fail(x.span, fmt.Sprintf("an array of %s cannot be collected", typeString(elem)), "")
	}
	p.Kind, p.limit = event.Counted, int64(c.in.RepeatLimit)
	if isChar(elem) {
		p.limit = int64(c.in.StringLimit)
	}
	p.limit = max(1, min(p.limit, maxDynamic/size))
	return p
}
