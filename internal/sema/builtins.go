package sema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Builtin is a word or function that jalon defines. Each is one row of the table below. Hints of diagnostics,
// `jalon --help`, docs/builtins.md and the predefined trace state variables of GDB are generated from the rows.
type Builtin struct {
	Name string
	Form Form
	Type string // the type of its value, as text; "" for an item
	Call string // how a Function is called
	Doc  string
	// GDB is the name of the trace state variable with this value (KGTP's name if KGTP had it), "" for none.
	// GDBNumber is the variable's number, which never changes.
	GDB       string
	GDBNumber int
	// NoProcess is why GDB has the variable only for the kernel; "": also for processes.
	NoProcess string
	// Env describes the value if it is a part of a word of the hit's environment.
	Env *EnvWord

	inProcess, inKernel *lowering // nil: the engine does not have it
	header              bool      // every record contains it already
	inner               bool      // only jalon itself writes it, for scripts
}

// Form is how a builtin is written.
type Form uint8

// The forms.
const (
	Word     Form = iota // $name
	BareWord             // $name; in the kernel engine also name, unless a variable has that name
	Function             // name(...)
)

// EnvWord is the part of a word of the hit's environment from bit Shift on.
type EnvWord struct {
	Number, Shift int64
	Type          *ctype.Type
}

// lowering is how an engine compiles a builtin; a nil function means that the form is not allowed.
type lowering struct {
	value func(*checker, lang.Span) expr         // in an expression
	item  func(*collector, lang.Collect) []*plan // as an item of its own
	call  func(c *checker, x *lang.Call) expr    // of a Function
	where func(*site) bool                       // nil: at all places
}

// builtins has all of them, in the order of the reference page. The table refers to functions that refer to the
// table, so init fills it.
var (
	builtins      []*Builtin
	builtinByName = map[string]*Builtin{}
)

func init() {
	builtins = []*Builtin{
		{Name: "args", Doc: "the function's arguments, one value each; $args@n: those of the frame n up", inProcess: item(argsGroup), inKernel: item(argsGroup)},
		{Name: "locals", Doc: "the local variables that have a value at the place; $locals@n: those of the frame n up", inProcess: item(localsGroup), inKernel: item(localsGroup)},
		{Name: "regs", Doc: "the integer registers", inProcess: item(whole(event.Regs, asRegs)), inKernel: item((*collector).regsItem)},
		{Name: "bt", Doc: "the program's stack; at places in the kernel the kernel's stack", inProcess: item((*collector).processStack), inKernel: item((*collector).stackItem)},
		{Name: "ubt", Doc: "the program's stack, at places in the kernel", inKernel: item((*collector).userStackItem)},
		{Name: "ret", Type: "code pointer", Doc: "at the returns of a process's functions the same as $retval, elsewhere the address to which the function returns", inProcess: value((*checker).returnAddress), inKernel: value((*checker).returnAddress)},
		{Name: "retval", Form: BareWord, Type: "as the function's", Doc: "the return value, at places that are returns", inProcess: &lowering{value: (*checker).returned, where: atReturn}, inKernel: &lowering{value: (*checker).returned, where: atReturn}},
		{Name: "elapsed", Type: "unsigned long", Doc: "at the returns of a process's functions, nanoseconds since the function was entered", inProcess: value((*checker).elapsedTime)},
		{Name: "_sdata", Doc: "a static tracepoint's own record, as the kernel would print it", inKernel: item((*collector).sdata)},
		{Name: "sdata", Doc: "the same as $_sdata", inKernel: item((*collector).sdata)},

		scalar("pid", ctype.IntT, ir.EnvPidTgid, 32, "the process (the kernel's tgid)").process((*checker).pid, header).items(header).gdb("current_task_tgid", 2),
		scalar("tid", ctype.IntT, ir.EnvPidTgid, 0, "the thread (the kernel's pid)").process(nil, header).items(header).gdb("current_task_pid", 3),
		scalar("cpu", ctype.UIntT, ir.EnvCPU, 0, "the number of the CPU").process((*checker).cpuNumber, header).items(header).gdb("cpu_id", 4),
		scalar("nsecs", ctype.ULongT, ir.EnvTime, 0, "CLOCK_MONOTONIC in nanoseconds").gdb("clock", 5),
		scalar("time", ctype.ULongT, ir.EnvTime, 0, "the same as nsecs").dollar().process(nil, header).items(header),
		scalar("uid", ctype.UIntT, ir.EnvUidGid, 0, "the user of the thread").computed().gdb("current_task_uid", 6),
		scalar("gid", ctype.UIntT, ir.EnvUidGid, 32, "the group of the thread").computed().gdb("current_task_gid", 7),
		scalar("cgroup", ctype.ULongT, ir.EnvCgroup, 0, "the number of the thread's cgroup (version 2)").computed().gdb("current_task_cgroup", 8),
		scalar("jiffies", ctype.ULongT, ir.EnvJiffies, 0, "ticks of the kernel's timer, counted from a starting point that the kernel chooses").computed().gdb("jiffies", 10).kernelOnly("the kernel does not show it to processes"),
		{Name: "comm", Form: BareWord, Type: "char []", Doc: "the name of the thread", header: true, inProcess: item(header), inKernel: &lowering{value: (*checker).comm, item: header}},
		{Name: "task", Type: "struct task_struct *", Doc: "the kernel's structure of the thread", GDB: "current_task", GDBNumber: 9, Env: taskWord, NoProcess: "it is a kernel address", inKernel: value((*checker).task)},
		{Name: "curtask", Form: BareWord, Type: "struct task_struct *", Doc: "the same as $task", inKernel: value((*checker).task)},

		{Name: "str", Form: Function, Call: "str(pointer[, limit])", Type: "char []", Doc: "the string at a pointer, at most limit bytes of it", inProcess: &lowering{call: (*checker).strCall}, inKernel: &lowering{call: (*checker).strCall}},
		{Name: "@entry", Form: Function, Call: "@entry(x)", Type: "as x", Doc: "at the returns of a process's functions, the value that x had when the function was entered: a number or pointer; as an item of a list @entry($args), all arguments that are such", inProcess: &lowering{call: (*checker).entryCall}},
		{Name: "@up", Form: Function, Call: "@up(x[, n])", Type: "as x", Doc: "x in the frame n (1) up, as after GDB's up: in the function into which this one is inlined, or which called it", inProcess: &lowering{call: upCall}, inKernel: &lowering{call: upCall}},
		{Name: "@map", Form: Function, Call: `@map("NAME", key...)`, Type: "long", Doc: "in scripts, the number that a map has for a key; 0: it has none", inProcess: &lowering{call: readCall}, inKernel: &lowering{call: readCall}},
		{Name: "@has", Form: Function, Call: `@has("NAME", key...)`, inner: true, inProcess: &lowering{call: hasCall}, inKernel: &lowering{call: hasCall}},
		{Name: "@local", Form: Function, Call: "@local(n)", inner: true, inProcess: &lowering{call: localCall}, inKernel: &lowering{call: localCall}},
		{Name: "@signal", Form: Function, Call: "@signal(n, thread, number)", inner: true, inKernel: &lowering{call: signalCall}},
		{Name: "@nsecs", Form: Function, Call: "@nsecs()", inner: true, inProcess: &lowering{call: nsecsCall}},
		{Name: "this_cpu", Form: Function, Call: "this_cpu(x)", Type: "as x", Doc: "the per-CPU variable x of the hit's CPU", inKernel: &lowering{call: (*checker).thisCPU}},
		{Name: "per_cpu", Form: Function, Call: "per_cpu(x, n)", Type: "as x", Doc: "the per-CPU variable x of CPU n", inKernel: &lowering{call: (*checker).perCPU}},
		{Name: "kaddr", Form: Function, Call: `kaddr("symbol")`, Type: "unsigned long", Doc: "the address of a kernel symbol", inKernel: &lowering{call: (*checker).kaddr}},
	}
	for _, b := range builtins {
		builtinByName[b.Name] = b
	}
}

// IsWord reports whether $name is one of jalon's words.
func IsWord(name string) bool {
	b := dollarWord(name)
	return b != nil && b.Form != Function
}

// IsGDBVariable reports whether $name is predefined in GDB.
func IsGDBVariable(name string) bool {
	return slices.ContainsFunc(builtins, func(b *Builtin) bool { return b.GDB == name && name != "" }) || name == "trace_timestamp"
}

// GDBVariables returns the builtins that are trace state variables in GDB, for the kernel or for a process.
func GDBVariables(kernel bool) (list []*Builtin) {
	for _, b := range builtins {
		if b.GDB != "" && (kernel || b.NoProcess == "") {
			list = append(list, b)
		}
	}
	return list
}

// Read emits the value at the hit, in the kernel engine.
func (w *EnvWord) Read(b *ir.Builder) ir.Value {
	v := b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: w.Number})
	if w.Shift != 0 {
		v = b.Bin(ir.Shr, 8, v, b.Const(w.Shift))
	}
	if w.Type.Size < 8 {
		v = b.Bin(ir.And, 8, v, b.Const(1<<(8*w.Type.Size)-1))
	}
	return v
}

// Written is the form that is valid at all places.
func (b *Builtin) Written() string {
	if b.Form == Function {
		return b.Call
	}
	return "$" + b.Name
}

// ItemOnly reports that it can only be an item of a collect list, not part of an expression.
func (b *Builtin) ItemOnly() bool {
	return b.Form != Function && (b.inKernel == nil || b.inKernel.value == nil) && (b.inProcess == nil || b.inProcess.value == nil)
}

var taskWord = &EnvWord{Number: ir.EnvTask, Type: voidPtrT}

// scalar makes a word that is part of the environment in the kernel engine.
func scalar(name string, t *ctype.Type, number, shift int64, doc string) *Builtin {
	w := &EnvWord{number, shift, t}
	return &Builtin{
		Name: name, Form: BareWord, Type: typeString(t), Doc: doc, Env: w, header: true,
		inKernel: value(func(_ *checker, span lang.Span) expr { return w.expr("$"+name, t, span) }),
	}
}

// process sets the lowering for the in-process engine.
func (b *Builtin) process(v func(*checker, lang.Span) expr, i func(*collector, lang.Collect) []*plan) *Builtin {
	b.inProcess = &lowering{value: v, item: i}
	return b
}

// items sets the lowering of $name as an item of its own, in the kernel engine.
func (b *Builtin) items(i func(*collector, lang.Collect) []*plan) *Builtin {
	b.inKernel.item = i
	return b
}

// dollar means that the word needs its dollar.
func (b *Builtin) dollar() *Builtin {
	b.Form = Word
	return b
}

// computed means that records do not contain it by default.
func (b *Builtin) computed() *Builtin {
	b.header = false
	return b
}

func (b *Builtin) gdb(name string, number int) *Builtin {
	b.GDB, b.GDBNumber = name, number
	return b
}

// kernelOnly returns why GDB has no such variable for processes.
func (b *Builtin) kernelOnly(why string) *Builtin {
	b.NoProcess = why
	return b
}

func item(f func(*collector, lang.Collect) []*plan) *lowering { return &lowering{item: f} }
func value(f func(*checker, lang.Span) expr) *lowering        { return &lowering{value: f} }

// here returns the lowering for the place's engine, or nil.
func (b *Builtin) here(st *site) *lowering {
	switch {
	case b == nil:
		return nil
	case st.in.Kernel != nil:
		return b.inKernel
	}
	return b.inProcess
}

// bare reports whether the name without a dollar means b in the kernel engine.
func (b *Builtin) bare() bool { return b != nil && b.Form == BareWord && b.inKernel != nil }

// wordsHere returns the names of the words, without the dollar.
func (st *site) wordsHere() (all, bare []string) {
	for _, b := range builtins {
		if b.Form == Function || b.here(st) == nil {
			continue
		}
		all = append(all, b.Name)
		if b.bare() {
			bare = append(bare, b.Name)
		}
	}
	return all, bare
}

// callable is a hint that lists the functions.
func (c *checker) callable() string {
	var calls []string
	for _, b := range builtins {
		if b.Form == Function && !b.inner && b.here(c.site) != nil {
			calls = append(calls, b.Call)
		}
	}
	if len(calls) == 1 {
		return "only " + calls[0] + " can be called"
	}
	last := len(calls) - 1
	return strings.Join(calls[:last], ", ") + " and " + calls[last] + " can be called"
}

// dollarWord returns the word for $name, which may be its own name or GDB's.
func dollarWord(name string) *Builtin {
	if b := builtinByName[name]; b != nil {
		return b
	}
	for _, b := range builtins {
		if b.GDB == name && name != "" {
			return b
		}
	}
	return nil
}

// word compiles $name in an expression if it is one of jalon's words; otherwise it returns nil.
func (c *checker) word(x *lang.Reg) expr {
	b := dollarWord(x.Name)
	if b == nil || b.Form == Function {
		return nil
	}
	how := b.here(c.site)
	if b.Name == "ret" || b.Name == "retval" || b.Name == "elapsed" {
		c.own(b.Name, x.Span())
	}
	switch {
	case how == nil && b.Name == "retval": // variables of programs can have this name
		c.failName("retval", x.Span(), nil)
	case how == nil:
		c.kernelOnly("$"+x.Name, x.Span())
		c.processOnly(b, "$"+x.Name, x.Span())
	case how.value != nil:
		return how.value(c, x.Span())
	case c.inCond:
		c.fail(x.Span(), fmt.Sprintf("$%s cannot be used in a condition", x.Name), "it can be collected")
	}
	c.fail(x.Span(), fmt.Sprintf("$%s can only be collected as an item, not used in an expression", x.Name),
		fmt.Sprintf("collect it beside the expression: ..., $%s", x.Name))
	return nil
}

// bareWord returns the word for a name without a dollar, or nil.
func (c *checker) bareWord(name string) *Builtin {
	b := builtinByName[name]
	if !b.bare() {
		return nil
	}
	how := b.here(c.site)
	if c.in.Kernel == nil && (how == nil || how.where == nil) || c.in.Kernel != nil && c.otherHas(name) || how.where != nil && !how.where(c.site) {
		return nil
	}
	return b
}
