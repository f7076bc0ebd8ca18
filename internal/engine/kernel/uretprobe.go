package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// At the entry of a function with a uretprobe the kernel replaces the return address on the stack by an
// address of its own code, and stores the true one for this thread. Code that reads or moves the stack
// finds an unknown address:
//
//   - An unwinder ends there. A C++ exception or a Rust panic that passes through the function's caller
//     ends the program.
//   - Go moves stacks and reads them for its garbage collection; it ends the program.
//   - A function that returns in another thread (a coroutine that moves) is killed by SIGILL: the kernel
//     has no address stored for that thread.
//   - longjmp over the function is harmless; its return is not seen.
//
// So Go is refused, and there is a warning where the other cases are possible.

// uretprobes are the returns of functions of a file.
func (e *programs) uretprobes(p *probe.Place) ([]candidate, error) {
	entry := *p
	entry.Kind = probe.Entry
	list, err := e.uprobes(&entry)
	if err != nil {
		return nil, err
	}
	for i := range list {
		c := &list[i]
		v := &c.variants[0]
		v.how, v.target.Kind, v.kernel.Return, v.atEntry = "uretprobe", bpf.Uretprobe, true, false
		v.scope, v.exit = &returned{v.scope}, e.files.exit(c.module, c.function, c.vaddr)
		c.place = placeOf(p, "uretprobe:", c.function)
	}
	if e.k != nil && e.opt.Tgid != 0 && !e.k.Features().AtLeast(6, 11) && shadowStack(e.opt.Tgid) {
		return nil, probe.Diagnose(p, "the process has a shadow stack, and this kernel (before Linux 6.11) does not change the return address there: the process would be killed", "")
	}
	return e.safeReturns(p, list)
}

// danger is what a uretprobe of a function may do to the program.
type danger struct {
	refuse string // "": it may be armed
	warn   string // "": nothing is known against it
}

// returnDanger looks at the function that begins at vaddr.
func (e *programs) returnDanger(m *dwarf.Module, vaddr uint64) danger {
	if e.files.traits(m).isGo && e.inGo(m, vaddr) {
		return danger{refuse: "this is Go code, which moves its stacks and finds on them the return address that the kernel has put there: the program would end with a fatal error"}
	}
	if !returnInPlace(m, vaddr) {
		return danger{refuse: fmt.Sprintf("at %s no return address is %s, where the kernel would replace it: call frame information says so", named(m, vaddr), returnPlace())}
	}
	if e.mayUnwind(m, vaddr) {
		return danger{warn: "a C++ exception or a Rust panic that passes through the function ends the program: no unwinder gets past the return address that the kernel puts on the stack"}
	}
	if name := e.switches(m); name != "" {
		return danger{warn: "the program switches stacks (" + name + "): a function that returns in another thread than it was called in is killed by SIGILL"}
	}
	return danger{}
}

// mayUnwind reports whether an exception may leave the function at vaddr or pass
// through it: its file has to do with exceptions, and it calls something.
func (e *programs) mayUnwind(m *dwarf.Module, vaddr uint64) bool {
	t := e.files.traits(m)
	fn, ok := m.FunctionAt(vaddr)
	if ok && m.Unwinds(fn) {
		return true
	}
	if !t.throws {
		return false
	}
	x := m.Extent(vaddr)
	c, err := e.files.codeOf(m, x, vaddr)
	return err != nil || c.Calls()
}

// returnPlace is where a call leaves the return address.
func returnPlace() string {
	if r := host.Processor.Register(host.Processor.Link); r != nil {
		return "in the register " + r.Name
	}
	return "on top of the stack"
}

// returnInPlace reports whether, by call frame information, the return address at vaddr is where a call
// stores it: this is so only at the entry of a function.
func returnInPlace(m *dwarf.Module, vaddr uint64) bool {
	rule, err := m.Unwind(vaddr)
	if err != nil || len(rule.CFA) == 0 {
		return true // not known; the place is the beginning of a function
	}
	ra, has := rule.Regs[rule.RA]
	if rule.Signal || has && ra.Kind == frame.Undefined {
		return false // the first function of a thread (_start), or the end of a signal
	}
	if host.Processor.Link != arch.NoReg {
		return !has || ra.Kind == frame.SameValue
	}
	ops := rule.CFA
	return len(ops) == 2 && ops[0].Code == debuginfo.OpReg && ops[0].Arg == int64(host.Processor.SP) &&
		ops[1].Code == debuginfo.OpAddConst && ops[1].Arg == host.Processor.ReturnSlot
}

// inGo reports whether an address is in Go code, not in C code linked with it, as far as symbols show it.
func (e *programs) inGo(m *dwarf.Module, vaddr uint64) bool {
	lo, hi := m.Lookup("runtime.text"), m.Lookup("runtime.etext")
	if len(lo) != 1 || len(hi) != 1 {
		return true
	}
	return vaddr >= lo[0].Value && vaddr < hi[0].Value
}

// switchers are functions by which programs continue on another stack.
var switchers = []string{"swapcontext", "setcontext", "jump_fcontext", "ontop_fcontext", "co_switch", "coro_transfer", "_st_md_cxt_restore"}

// switches is a function by which the program, or the file, switches stacks.
func (e *programs) switches(m *dwarf.Module) string {
	if name := e.files.traits(m).switches; name != "" {
		return name
	}
	if e.opt.Program == "" || e.opt.Program == m.Path() {
		return ""
	}
	p, err := e.files.file(e.opt.Program)
	if err != nil {
		return ""
	}
	return e.files.traits(p).switches
}

// safeReturns refuses or warns of the candidates of a uretprobe: they are in
// libraries' functions as well as in the program's.
func (e *programs) safeReturns(p *probe.Place, list []candidate) ([]candidate, error) {
	var out []candidate
	var first error
	warned := map[string]int{}
	for i := range list {
		c := &list[i]
		d := e.returnDanger(c.module, c.vaddr)
		switch {
		case d.refuse != "" && !e.opt.Force:
			if first == nil {
				first = probe.Diagnose(p, d.refuse, "uprobe: at the function's instructions is safe; --force arms it all the same")
			}
			continue
		case d.refuse != "":
			c.note = d.refuse
		default:
			c.note = d.warn
		}
		if c.note != "" {
			warned[c.note]++
		}
		out = append(out, *c)
	}
	if len(out) == 0 && first != nil {
		return nil, first
	}
	if first != nil {
		e.warn(fmt.Sprintf("%s: %d of %d sites are skipped: %s", p.Text, len(list)-len(out), len(list), engine.Plain(first)))
	}
	for text, n := range warned {
		if len(list) > 1 {
			text = fmt.Sprintf("%d of %d functions: %s", n, len(list), text)
		}
		e.caution(p.Text + ": " + text)
	}
	return out, nil
}

// shadowStack reports whether a process has a shadow stack, in which the kernel changes
// the return address too since Linux 6.11 only: before that it would be killed.
func shadowStack(pid int) bool {
	b, err := procdir.Via(pid, func(dir string) ([]byte, error) { return os.ReadFile(dir + "/status") })
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if features, ok := strings.CutPrefix(line, "x86_Thread_features:"); ok {
			return slices.Contains(strings.Fields(features), "shstk")
		}
	}
	return false
}
