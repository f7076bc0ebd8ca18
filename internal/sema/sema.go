package sema

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Input is one site to compile for: what the user wrote, and what names mean there.
type Input struct {
	Scope   debuginfo.Scope
	Cond    *lang.Condition // nil: every hit is recorded
	Collect []lang.Collect  // may be empty: the record is its header
	// Own: the collect list is the default one of the place, not the user's: what cannot be collected has the reason as its
	// value, and what the place does not have is left out.
	Own bool
	// Lenient: what cannot be collected here has the reason as its value, because another site of the session has it. It is in
	// Output.Missing.
	Lenient bool

	// Actions are the changes of maps. Maps are those that expressions read, by @map("NAME", key...).
	Actions []Action
	Maps    []*Map
	// Variables are the trace state variables of the session, with their numbers (ir.GetVar).
	Variables map[string]int64
	// Ended, if not 0, is the number of a variable: while it is not 0, hits do nothing and are not counted.
	Ended int64
	// NoRecord: hits leave no record, only what the actions change. CountHits: they are counted, in ring.CounterComputed.
	NoRecord, CountHits bool
	// Moment is from where @nsecs() counts, in processes; nil: not known.
	Moment *Moment

	// Bias is the load bias of the module: run-time address = vaddr + Bias.
	Bias uint64
	// TLSOffset gives the offset of the module's TLS block from the thread
	// pointer. Its error text is shown to the user. Nil: not known.
	TLSOffset func() (int64, error)
	// Readable reports whether size bytes at a vaddr lie in the module's loaded segments, so that static
	// data there is read without a guard. Nil: the debug information is trusted.
	Readable func(vaddr, size uint64) bool
	// Others is what is known of other modules of the process.
	Others Others
	// LineOf translates a vaddr for diagnostics; it may be nil.
	LineOf func(vaddr uint64) (file string, line int)
	// AtEntry: the site is the first instruction of a function (or the one after endbr64), so that the
	// argument registers of the ABI hold arg0..arg5.
	AtEntry bool
	// Exit, if not nil: the site is an instruction by which control leaves the function.
	Exit *Exit
	// GoCode: Go's compiler made the code, which passes arguments in other registers.
	GoCode bool

	// Limits; zero means the default below.
	StringLimit    int  // bytes of a string
	RepeatLimit    int  // elements of p@n with n known at the hit only
	StackLimit     int  // bytes of stack taken by $bt
	StackFrames    int  // frames that $bt follows at the hit, in a process; 0: it copies the stack
	FramePointers  bool // $ubt at places in the kernel follows them
	AggregateLimit int  // bytes of a variable that $args and $locals take along

	// NoTexts: what is collected whole has no texts of its parts.
	NoTexts bool

	// Most, if not 0: this many hits leave a record, of all programs with the same variables. If that many records may take more
	// than Room bytes, all hits leave one, so that no record which is counted finds a buffer full.
	Most uint64
	Room int

	// Pid is what $pid means in conditions; 0: not known.
	Pid int

	// Kernel, if not nil: the program runs in the kernel engine.
	Kernel *KernelInput

	// For the schema.
	SiteID                uint32
	Place, Function, File string
	Line                  int
}

// Others are functions about other modules than that of the site.
type Others struct {
	// Replaces returns why another file's object or function of that symbol may be used here in place of the own file's;
	// "" if it is not. Nil: the own one is used.
	Replaces func(symbol string) string
	// Variable describes one of another module by its symbol or bare name, in the terms of this module; known has its
	// type, or is nil. The error is the reason why the variable is not known; both results are nil if no module has the name. A nil
	// function means that other modules are not known.
	Variable func(symbol string, known *debuginfo.Variable) (*debuginfo.Variable, error)
}

// Moment is a time by the time stamp counter and by CLOCK_MONOTONIC. Programs that exchange times have the same one.
type Moment struct {
	Ticks, NS uint64
	Rate      float64 // ns for each tick
	// Corrected: programs add ring.ClockVariable to the time that they compute, so that it can be compared with that of the kernel's programs.
	Corrected bool
}

// At is what programs compute for a value of the counter, without the correction.
func (m *Moment) At(ticks uint64) uint64 {
	n, factor := ticks-m.Ticks, scale(m.Rate)
	return m.NS + (n>>32*factor)<<(32-scaleBits) + uint64(uint32(n))*factor>>scaleBits
}

// Exit describes a return or a tail call in a process.
type Exit struct {
	// Value is $retval; nil: the function returns nothing.
	Value *debuginfo.Variable
	// Passed, if not 0, is the register that has the address of Value at the function's entry.
	Passed int
	// Tail: the function ends by a call of another. An item that needs the value shows that.
	Tail bool
	// Pair is how the entry of the same call is found, for $elapsed and @entry(x); nil: it is not, because of NoPair.
	Pair   *Pair
	NoPair string
	// Taken, if not nil, emits a value that is zero if control does not leave at this hit: a conditional
	// jump that is not taken is no hit. flags are the processor's.
	Taken func(b *ir.Builder, flags ir.Value) ir.Value
}

// Context is the machine state that a kernel program has at its site.
type Context uint8

// The contexts.
const (
	// ContextArgs: the words that a raw tracepoint, fentry or fexit passes. No registers.
	ContextArgs Context = iota
	// ContextRegs: struct pt_regs: kprobes, uprobes, timers. Registers, no vectors.
	ContextRegs
	// ContextRecord: a tracepoint's record as its format file describes it, whose
	// first 8 bytes (common_*) are not there. No registers.
	ContextRecord
	// ContextNone: nothing.
	ContextNone
)

// KernelInput is what the kernel engine adds to an Input. Under it no address is
// trusted but those of the kernel's own static data; floating point can be
// collected but not computed with.
type KernelInput struct {
	Context Context
	// User: the site is in user code (uprobe, USDT), so addresses are the user's,
	// and may be paged out: every load is guarded. OpAddr means an address in the
	// file's image: its bias at the hit is rip minus the site's vaddr. (With
	// Return rip is in the caller, so that such variables have no value there.)
	User bool
	// Walk, with User: the process has the tables by which its stack is followed at the hit.
	Walk bool
	// Tables reports whether there may be tables of any process by which its stack is followed at the hit (ir.EnvTables). Stacks of others
	// are copied.
	Tables func() bool
	// UserRegs returns where the registers are with which the running thread entered the kernel; nil: it is not known. It
	// is called where a program needs them.
	UserRegs func() *UserRegs
	// Return: the site is a function's return, so that $retval is there (in rax
	// for ContextRegs) when Scope has no variable "retval".
	Return bool
	// Tgid and Cgroup, when not 0 (and without Take), restrict the site to a process or a cgroup:
	// other hits leave before anything else and are not counted.
	Tgid   int
	Cgroup uint64
	// Follow: in place of Tgid, to the processes that are followed.
	Follow bool
	// Self, when not 0, is a process whose hits are not recorded, nor counted
	// where the condition holds: jalon, which would follow its own output.
	Self int
	// Fixed says, with User, that the image lies where its file says (no
	// position-independent code), so that OpAddr is the address itself.
	Fixed bool
	// PC, when not 0, is the address of the site's instruction, which $rip and
	// $regs then give: behind a kprobe the saved registers hold one that lies
	// further on.
	PC uint64
	// Task is struct task_struct, for $task and $comm, when Scope does not know it.
	Task *ctype.Type
	// Other is what names mean at the place in another context (a tracepoint has
	// the fields of its record, or its arguments); for diagnostics. May be nil.
	Other debuginfo.Scope
	// PerCPU gives the address of the kernel's array __per_cpu_offset; 0: not known.
	// It is called where a program needs it, since it may be slow. Nil: not known.
	PerCPU func() uint64
	// Symbol gives the address of a kernel symbol, for kaddr("name").
	Symbol func(name string) (uint64, bool)
	// SData describes the tracepoint's own record, for $_sdata (ContextRecord).
	SData *SData
	// Take: the site's other program decides; this one goes on when it was given
	// a word other than 0. Cond is nil then.
	Take bool
	// Give: the program decides for the site's other program, and records nothing.
	Give bool
	// Gate: the program's return value is the decision, 1 or 0; it records nothing.
	// With Take it passes on what the other program decided.
	Gate bool
}

// UserRegs describes where the kernel keeps the registers of a thread's program: in a struct pt_regs at a distance from its stack.
type UserRegs struct {
	Stack, Flags int64 // offsets in struct task_struct
	Distance     int64
}

// SData is a static tracepoint's own record.
type SData struct {
	Type  *ctype.Type // the struct of its fields
	Fixed int         // bytes of the record without dynamic arrays
	// Dynamic lists the offsets of the words (ctype.Dynamic: length << 16 | offset) that describe the dynamic
	// arrays. The record ends at the end of the last array. For __rel_loc types the offset counts from the end
	// of the word.
	Dynamic []int64
	// Text is how the kernel prints the record. With Text.TickCount the record's first
	// bytes are the kernel's tick count at the hit.
	Text *event.KernelText
}

// Default limits of Input, and the largest record.
const (
	DefaultStringLimit    = 200 // as GDB's "print elements"
	DefaultRepeatLimit    = 200
	DefaultStackLimit     = 4096
	DefaultAggregateLimit = 4096
	MaxRecordSize         = 64 << 10
)

// Output is what Compile makes of an Input.
type Output struct {
	Program  *ir.Program // not optimised
	Entry    *ir.Program // for the function's entry, which keeps what Program needs of it; nil: nothing
	Schema   event.Schema
	Warnings []*lang.Diagnostic
	Missing  lang.Diagnostics // items of the collect list of which the debug information has no value at this site
	Absent   []int            // with Input.Lenient: the items of the list that cannot be collected here
	Actions  []ActionTypes    // of Input.Actions
}

// Compile checks and lowers the condition and the collect list of one site.
// Errors are of the user's kind: a lang.Diagnostics with everything found.
func Compile(in *Input) (*Output, error) {
	in = withDefaults(in)
	c := &collector{newChecker(in)}
	var cond expr
	if in.Cond != nil {
		c.from, c.inCond = in.Cond.From, true
		c.guard(func() { cond = c.condition(c.decide(in.Cond.X)) })
		c.inCond = false
	}
	var fields []*plan
	var acts []*action
	if k := in.Kernel; k == nil || !k.Give && !k.Gate {
		acts = checkActions(c.checker, in.Actions) // what is collected may be what they keep
		fields = c.collect(in.Collect)
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	var entry *ir.Program
	if c.pairs.used() {
		entry = lowerEntry(in.Exit.Pair, c.pairs)
	}
	out := lower(in, c.pairs, cond, acts, fields)
	if d := c.tooLarge(out, fields); d != nil {
		if !in.NoTexts {
			less := *in
			less.NoTexts = true
			return Compile(&less)
		}
		return nil, lang.Diagnostics{d}
	}
	out.Missing, out.Absent = c.missing, c.absentItems
	out.Entry, out.Warnings, out.Actions = entry, c.warnings, typesOf(acts)
	return out, nil
}

func withDefaults(in *Input) *Input {
	cp := *in
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&cp.StringLimit, DefaultStringLimit)
	def(&cp.RepeatLimit, DefaultRepeatLimit)
	def(&cp.StackLimit, DefaultStackLimit)
	def(&cp.AggregateLimit, DefaultAggregateLimit)
	return &cp
}

// isType reports whether a name is a type at the place. A variable hides a type of the
// same name, as in C. In the kernel the words pid, cpu, comm, ... hide types of the
// same names (struct pid), and so do the variables of the place's other set of names.
func (in *Input) isType(name string) bool {
	if k := in.Kernel; k != nil {
		if b := builtinByName[name]; b.bare() && b.inKernel.where == nil || k.Other != nil && has(k.Other, name) {
			return false
		}
	}
	if builtinType(name) != nil {
		return true
	}
	s := in.Scope
	if r, ok := s.(debuginfo.Resolver); ok {
		e, err := r.Resolve(name, false)
		var none *debuginfo.NotFoundError
		if err == nil {
			return e.Type != nil
		}
		if !errors.As(err, &none) {
			return false
		}
		return namedType(s, name) != nil
	}
	if namedType(s, name) == nil {
		return false
	}
	return !has(s, name)
}

// has reports whether a variable is known. Explaining a failed lookup is slow, so a
// scope may offer a short form.
func has(s debuginfo.Scope, name string) bool {
	if h, ok := s.(interface{ Has(name string) bool }); ok {
		return h.Has(name)
	}
	_, err := s.Lookup(name)
	return err == nil
}
