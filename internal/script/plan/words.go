package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// wordsAtSite are the words of the language as C. What a hit has anyway (pid, tid, comm, cpu, the time) is not read
// here, except in conditions.
var wordsAtSite map[string]func(w *translator, x script.Expr, name string, args []script.Expr) (string, bool)

// fromHit are the words whose values every event has.
var fromHit = map[string]bool{"pid": true, "tid": true, "cpu": true}

// safeWords are functions that cannot fail.
var safeWords = map[string]bool{"pid": true, "tid": true, "reg": true, "has_key": true, "strncmp": true}

func init() {
	kernel := func(c string) func(*translator, script.Expr, string, []script.Expr) (string, bool) {
		return func(w *translator, x script.Expr, _ string, args []script.Expr) (string, bool) {
			return wide(c, w.typeOf(x)), w.inKernel() && len(args) == 0
		}
	}
	wordsAtSite = map[string]func(*translator, script.Expr, string, []script.Expr) (string, bool){
		"pid": func(w *translator, _ script.Expr, _ string, args []script.Expr) (string, bool) {
			return "(unsigned long)($pid)", len(args) == 0
		},
		"cpid": (*translator).child,
		"tid":  kernel("$tid"), "cpu": (*translator).cpu, "uid": kernel("$uid"), "gid": kernel("$gid"),
		"cgroup": kernel("$cgroup"), "jiffies": kernel("$jiffies"), "curtask": kernel("$task"),
		"nsecs": (*translator).nsecs, "usermode": (*translator).userMode,
		"argN": (*translator).argument, "reg": (*translator).register, "retval": (*translator).returned,
		"ppid": ofTask("real_parent->tgid"), "leader_tid": ofTask("group_leader->pid"), "uaddr": (*translator).userSymbol,
		"has_key": (*translator).hasKey, "find": (*translator).hasKey,
		"kptr": first, "uptr": first, "kaddr": (*translator).symbol, "container_of": (*translator).container,
	}
}

// timed reports whether sites have the time of a hit: where maps there may have times.
func (w *translator) timed() bool { return w.at != nil && w.at.numbers() }

// nsecs is the time of the hit.
func (w *translator) nsecs(x script.Expr, _ string, _ []script.Expr) (string, bool) {
	now := "@nsecs()"
	if w.inKernel() {
		now = "$nsecs"
	}
	switch w.typeOf(x).Clock {
	case "tai", "sw_tai":
		return "", false
	case "monotonic":
		return now, w.timed()
	}
	return fmt.Sprintf("(%s + %dUL)", now, w.opt.Slept), w.timed()
}

// cpu is the number of the CPU. In a process only maps have it from the site: a thread may go to another CPU before its record is
// written, which has the number for all else.
func (w *translator) cpu(x script.Expr, _ string, args []script.Expr) (string, bool) {
	return wide("$cpu", w.typeOf(x)), len(args) == 0 && (w.inKernel() || w.at != nil && !w.at.direct)
}

// userMode is whether the processor ran a program. Timers and counters interrupt both, and the kernel's addresses are the upper half.
func (w *translator) userMode(script.Expr, string, []script.Expr) (string, bool) {
	switch w.s.Point.Provider.Name {
	case "profile", "interval", "software", "hardware":
		return "(unsigned char)((long)$pc >= 0)", true
	}
	return map[bool]string{true: "(unsigned char)1", false: "(unsigned char)0"}[w.s.Point.Provider.User], true
}

// child is the process of -c.
func (w *translator) child(x script.Expr, _ string, args []script.Expr) (string, bool) {
	w.s.Child = true
	return number(uint64(w.opt.Child), w.typeOf(x)), len(args) == 0
}

// ofTask is a member of the struct of the thread, or of the one that is given.
func ofTask(path string) func(*translator, script.Expr, string, []script.Expr) (string, bool) {
	return func(w *translator, x script.Expr, _ string, args []script.Expr) (string, bool) {
		if len(args) == 0 {
			return wide("$task->"+path, w.typeOf(x)), w.inKernel()
		}
		c, ok := w.value(args[0])
		return wide("((struct task_struct *)("+c+"))->"+path, w.typeOf(x)), ok && w.inKernel() && !w.s.Point.Provider.User
	}
}

// userSymbol is the address of a variable or function of the program.
func (w *translator) userSymbol(_ script.Expr, _ string, args []script.Expr) (string, bool) {
	k := w.p.Consts[args[0]]
	if k == nil || k.Str == "" || strings.Trim(k.Str, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return "", false
	}
	return "(unsigned long)(&" + k.Str + ")", true
}

func first(w *translator, _ script.Expr, _ string, args []script.Expr) (string, bool) {
	return w.value(args[0])
}

// inKernel reports whether the site is compiled for the kernel engine.
func (w *translator) inKernel() bool { return !w.opt.Process || !w.s.Point.Provider.User }

func (w *translator) argument(x script.Expr, name string, _ []script.Expr) (string, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(name, "__builtin_"), "arg"))
	if err != nil {
		return "", false
	}
	inRegisters := len(host.Processor.Args)
	switch pr := w.s.Point.Provider.Name; {
	case pr == "usdt", pr == "rawtracepoint", n < inRegisters:
		return wide(fmt.Sprintf("arg%d", n), w.typeOf(x)), true
	}
	return fmt.Sprintf("*(unsigned long *)((unsigned long)%s + %d)", gdbName(host.Processor.SP), 8*int64(n-inRegisters)+host.Processor.ReturnSlot), true
}

// gdbName is the word for a register.
func gdbName(r arch.Reg) string { return "$" + host.Processor.Register(r).Name }

// registers are GDB's names of the registers that reg() names otherwise, by processor.
var registers = map[string]map[string]string{
	"amd64": {
		"ax": "rax", "bx": "rbx", "cx": "rcx", "dx": "rdx", "si": "rsi", "di": "rdi", "bp": "rbp", "sp": "rsp", "ip": "rip", "pc": "rip", "flags": "eflags",
	},
	"arm64": {"pstate": "cpsr"}, // and r0 to r30
}

func (w *translator) register(_ script.Expr, _ string, args []script.Expr) (string, bool) {
	k := w.p.Consts[args[0]]
	if k == nil {
		return "", false
	}
	name := k.Str
	switch name {
	case "cs", "ss", "orig_rax", "orig_ax":
		return "", false
	}
	if n := registers[host.Processor.Name][name]; n != "" {
		name = n
	}
	if n, ok := strings.CutPrefix(name, "r"); ok && host.Processor.Named("x"+n) != nil {
		name = "x" + n
	}
	return "(unsigned long)($" + name + ")", true
}

func (w *translator) returned(x script.Expr, _ string, _ []script.Expr) (string, bool) {
	if w.s.Point.Provider.Name == "kretprobe" || w.s.Point.Provider.Name == "uretprobe" && w.inKernel() {
		return wide(gdbName(host.Processor.Results[0]), w.typeOf(x)), true
	}
	return wide("$retval", w.typeOf(x)), true
}

func (w *translator) symbol(_ script.Expr, _ string, args []script.Expr) (string, bool) {
	k := w.p.Consts[args[0]]
	if k == nil || k.Kind != types.String || !w.inKernel() {
		return "", false
	}
	return "kaddr(" + strconv.Quote(k.Str) + ")", true
}

// container is the address of the struct around a member.
func (w *translator) container(x script.Expr, _ string, args []script.Expr) (string, bool) {
	name, ok := args[2].(*script.Ident)
	t := w.typeOf(x)
	if !ok || t.Kind != types.Pointer {
		return "", false
	}
	_, off, found := t.Pointee().C.CMember(name.Name)
	c, ok := w.value(args[0])
	return fmt.Sprintf("(%s - %dUL)", c, off/8), ok && found
}
