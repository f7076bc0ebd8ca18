package kernel

import (
	"fmt"
	"os"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/probe"
)

// At the entry of a function with a uretprobe the kernel replaces the return address on
// the stack by that of its own code, and notes the true one for this thread. Whatever
// reads or moves that stack finds an address that it does not know:
//
//   - An unwinder ends there. A C++ exception or a Rust panic that is to pass through
//     the function's caller ends the program.
//   - Go moves stacks, reads them for its garbage collection, and ends the program.
//   - A function that returns in another thread (a coroutine that moves) is killed by
//     SIGILL: the kernel has noted nothing for that thread.
//   - longjmp over the function is harmless; its return is not seen.
//
// So Go is refused, and where the others may happen a warning says so.

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
	if !returnOnTop(m, vaddr) {
		return danger{refuse: fmt.Sprintf("at %s no return address is on top of the stack, where the kernel would replace it: call frame information says so", named(m, vaddr))}
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

// returnOnTop reports whether, as far as call frame information says, the return
// address is on top of the stack at vaddr: it is so at the entry of a function only.
func returnOnTop(m *dwarf.Module, vaddr uint64) bool {
	const rsp = 7
	rule, err := m.Unwind(vaddr)
	if err != nil || len(rule.CFA) == 0 {
		return true // not known; the place is the beginning of a function
	}
	if ra, ok := rule.Regs[rule.RA]; rule.Signal || ok && ra.Kind == frame.Undefined {
		return false // the first function of a thread (_start), or the end of a signal
	}
	ops := rule.CFA
	return len(ops) == 2 && ops[0].Code == debuginfo.OpReg && ops[0].Arg == rsp && ops[1].Code == debuginfo.OpAddConst && ops[1].Arg == 8
}

// inGo reports whether an address is in the code of Go, not of C linked with it; where
// symbols do not say it is.
func (e *programs) inGo(m *dwarf.Module, vaddr uint64) bool {
	lo, hi := m.Lookup("runtime.text"), m.Lookup("runtime.etext")
	if len(lo) != 1 || len(hi) != 1 {
		return true
	}
	return vaddr >= lo[0].Value && vaddr < hi[0].Value
}

// switchers are functions by which programs go on on another stack.
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
				first = refused(p, d.refuse, "uprobe: at the function's instructions is safe; --force arms it all the same")
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
		e.warn(fmt.Sprintf("%s: %d of %d sites are skipped: %s", p.Text, len(list)-len(out), len(list), firstLine(first)))
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
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "x86_Thread_features:"); ok {
			return strings.Contains(rest, "shstk")
		}
	}
	return false
}
