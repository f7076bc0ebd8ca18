package sema

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// site has the readable parts of the place: registers, the context block, memory.
type site struct {
	*report
	in     *Input
	pairs  *pairs       // what is needed of the function's entry
	locals map[int]bool // what actions have kept
	used   []int        // locals, by the action or item that is checked
	cpu    *cpuOf       // set while the operand of this_cpu or per_cpu is checked
	uneval int          // > 0 inside sizeof: nothing is evaluated, so locations are not needed
	frame  int          // how many frames up the names are of: see up
}

// try runs f and returns what ended it, or nil.
func (st *site) try(f func()) (failed *bail) {
	uneval, cpu := st.uneval, st.cpu
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(*bail)
			if !ok {
				panic(r)
			}
			st.uneval, st.cpu = uneval, cpu
			failed = b
		}
	}()
	f()
	return nil
}

// guard runs f; a diagnostic that ends it is kept with the others.
func (st *site) guard(f func()) {
	if b := st.try(f); b != nil {
		st.errs = append(st.errs, b.d)
	}
}

// noRegisters returns why a location that needs registers has no value, or "".
func (st *site) noRegisters() string {
	if k := st.in.Kernel; k != nil && k.Context != ContextRegs {
		return noRegistersHere
	}
	return ""
}

// userReturn means that the site is the return of a user function in a relocated image. The instruction pointer
// is the caller's, so the load bias cannot be computed from it.
func (st *site) userReturn() bool {
	k := st.in.Kernel
	return k != nil && k.User && k.Return && !k.Fixed
}

// needRegister makes sure that the register of variable v's piece can be read.
func (st *site) needRegister(e expr, v *varRef, reg int) {
	if st.in.Kernel == nil {
		return
	}
	if why := st.noRegisters(); why != "" {
		st.failUnavailable(e, v, why)
	}
	if isXMM(reg) {
		st.failUnavailable(e, v, "it is in a vector register, which is not available in the kernel")
	}
}

// needRegisters makes sure that the user's register can be read.
func (st *site) needRegisters(x *lang.Reg) {
	r := registers[x.Name]
	switch {
	case st.in.Kernel == nil || st.uneval > 0:
	case st.in.Kernel.Context != ContextRegs:
		st.fail(x.Span(), fmt.Sprintf("$%s: %s", x.Name, noRegistersHere), withRegisters)
	case isXMM(r.dwarf):
		st.fail(x.Span(), fmt.Sprintf("$%s: vector registers are not available in the kernel", x.Name), "the integer registers are: "+some(processor.Results[0], processor.Args[0]))
	case !inPtRegs(r.dwarf) && r.dwarf != int(processor.ThreadPointer):
		st.fail(x.Span(), fmt.Sprintf("$%s is not available in the kernel", x.Name), "for per-CPU data write this_cpu(x)")
	}
}

// needContext checks that object e, bits at byte off of the context block, exists.
func (st *site) needContext(e expr, v *varRef, off, bits int64) {
	k := st.in.Kernel
	switch {
	case k == nil || off < 0:
		st.failUnavailable(e, v, "its location is malformed in the debug information")
	case k.Context == ContextNone:
		st.failUnavailable(e, v, "this kind of place has no arguments")
	case k.Context == ContextRecord && off*8+bits <= commonBytes*8:
		st.failUnavailable(e, v, "eBPF programs cannot read the first 8 bytes of a record; use $tid and $cpu")
	}
}

// noFloat refuses to compute with floating-point numbers.
func (st *site) noFloat(span lang.Span) {
	if st.in.Kernel != nil && st.uneval == 0 {
		st.fail(span, "floating-point numbers cannot be used in arithmetic in the kernel", "they can be collected")
	}
}

// kernelOnly refuses what only the kernel engine can give.
func (st *site) kernelOnly(what string, span lang.Span) {
	if st.in.Kernel == nil {
		st.fail(span, what+" is known at places of the kernel engine only", "these are tracepoint:, kprobe:, ..., and uprobe: with --all")
	}
}

// processOnly refuses what only code in a process can give.
func (st *site) processOnly(b *Builtin, what string, span lang.Span) {
	if b.inProcess != nil {
		st.fail(span, what+" is known in a traced process only", "name one process (-p PID, or -- PROGRAM), without --all and --engine kernel")
	}
}

// elemSize is the step of pointer arithmetic: void and functions count 1 (GNU C).
func (st *site) elemSize(span lang.Span, elem *ctype.Type) int64 {
	s := elem.Strip()
	switch {
	case s.Kind == ctype.Void || s.Kind == ctype.Func:
		return 1
	case s.Size > 0:
		return s.Size
	case isRecord(s) && !s.Incomplete:
		return 0 // GNU C: an empty struct
	}
	st.failSize(span, elem)
	return 0
}

// failSize reports why the size of t is not known.
func (st *site) failSize(span lang.Span, t *ctype.Type) {
	s := t.Strip()
	switch {
	case isRecord(s) || s.Kind == ctype.Enum:
		hint := "cast to a type that is, or use a library built with -g"
		if k := st.in.Kernel; k != nil && (!k.User || s.Name == "task_struct") {
			hint = "a kernel with BTF (/sys/kernel/btf/vmlinux) describes it"
		}
		st.fail(span, fmt.Sprintf("%s is incomplete: its definition is not in the debug information", typeString(t)), hint)
	case s.Kind == ctype.Array:
		hint := "name the number of elements: x[0]@n"
		if s.Fortran {
			hint = fmt.Sprintf("name the number of elements: x(%d)@n", s.Lower)
		}
		st.fail(span, fmt.Sprintf("the size of %s is unknown here", typeString(t)), hint)
	}
	st.fail(span, fmt.Sprintf("%s has no size", typeString(t)), "")
}

// failType reports an object whose type is none that values can be made of. Such a
// type is named by the reason where that is known.
func (st *site) failType(e expr) {
	if name := e.Type().Strip().Name; strings.HasPrefix(name, "an array ") {
		hint := "a pointer to the elements can be indexed"
		if _, ok := st.in.Scope.(debuginfo.Arrays); ok && st.in.Scope.HasDebugInfo() {
			hint = "it can be collected, and its elements are written a(i) or a(i, j)"
		}
		st.fail(e.Span(), "this is "+name, hint)
	}
	why := "the debug information has no type for this"
	if t := e.Type().Strip(); t.Size > 0 && t.Name != "" { // such as _Decimal64
		why = fmt.Sprintf("values of type %s are not taken", t.Name)
	}
	panic(&bail{d: st.from.At(e.Span(), why, ""), unavailable: true, undescribed: true, otherwise: true, why: why})
}

// onCPU is per-CPU variable v where an operand of this_cpu or per_cpu is checked.
func (st *site) onCPU(v *varRef) expr {
	switch {
	case st.uneval > 0:
		if st.cpu != nil {
			st.cpu.used = true
		}
		return v
	case st.cpu == nil:
		st.fail(v.span, fmt.Sprintf("%q is a per-CPU variable: every CPU has its own", v.name),
			fmt.Sprintf("write this_cpu(%s) for the CPU of the hit, per_cpu(%s, n) for CPU n", v.name, v.name))
	case st.in.Kernel == nil || st.in.Kernel.PerCPU == nil || st.in.Kernel.PerCPU() == 0:
		st.fail(v.span, "the address of this kernel's per-CPU data is unknown", "root can read the address of __per_cpu_offset in /proc/kallsyms")
	case v.loc.Unavailable != "" || len(v.loc.Pieces) != 1 || v.loc.Pieces[0].Kind != debuginfo.InMemory:
		st.failUnavailable(v, v, v.loc.Unavailable)
	}
	st.needExpr(v, v, v.loc.Pieces[0].Expr, false)
	st.cpu.used = true
	return &perCPU{v.typed, v, st.cpu.n}
}

// decide gives an expression the structure that it has at this place.
func (st *site) decide(x lang.Expr) lang.Expr {
	x, d := lang.Decide(x, st.in.isType)
	if d != nil {
		st.fail(d.Span, d.Msg, d.Hint)
	}
	return x
}
