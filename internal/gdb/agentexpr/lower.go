package agentexpr

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Variable is what a trace state variable is to the program.
type Variable struct {
	Index int64 // ir.GetVar
	// Now says that it is GDB's $trace_timestamp: microseconds, read only.
	Now bool
	// Read emits the value of one that jalon has predefined, which is read only.
	// Absent says why programs cannot have it at this site.
	Read   func(*ir.Builder) ir.Value
	Absent string
}

// Options say for which engine a site is lowered, and what is known there.
type Options struct {
	// Kernel: the program runs in the kernel engine, where $trace_timestamp can be
	// computed with. PtRegs: its context is struct pt_regs; else it has no registers
	// but fs_base.
	Kernel, PtRegs bool
	// GSBase: gs_base can be read (in a process, where the processor has rdgsbase).
	GSBase bool
	// AVX: there are ymm registers, too (in a process).
	AVX bool
	// InUse: the processor reports which parts of its state are in use (amd64.InUse).
	InUse bool
	// PC, when not 0, is what rip reads: behind a kprobe the saved registers hold an
	// address that lies further on.
	PC uint64
	// Registers are those of a site that has others than PtRegs or none: by GDB's
	// number, what reads it.
	Registers map[int]func(*ir.Builder) ir.Value
	// Epoch is added to the kernel's clock where $trace_timestamp is computed with:
	// what that clock (CLOCK_MONOTONIC) lacks to the time since 1970, in nanoseconds.
	Epoch int64
	// Var gives the variable of GDB's number. Nil: there are none.
	Var func(number int) (Variable, bool)
	// Begun is the index of a variable: while it is 0 a hit does nothing and is not
	// counted. Nil: hits count from the first on.
	Begun *int64
	// Stop ends the trace at the site. Nil: the reader of the records does.
	Stop *Stop
	// Trusted says that size bytes at base + off can be read without a guard: base
	// is a DWARF register number, or -1 for none. Nil: nothing is.
	Trusted func(base, off, size int64) bool
	// Static emits the copy of a static tracepoint's own record to a Counted slot
	// of StaticSize bytes at an offset. Nil: there is none here.
	Static     func(b *ir.Builder, offset int64)
	StaticSize int64
	Limits     Limits
}

// Lower makes the program of a site, not optimised, and the layout of its record.
// A condition that is false counts in ring.CounterFalse, one that cannot be
// evaluated in ring.CounterCondFault. An expression of an action that fails ends
// there; the actions behind it go on. Variables that it set stay set. The error
// says what the site cannot do.
func Lower(s *Site, opt *Options) (p *ir.Program, lay *Layout, err error) {
	p, lay, err = lower(s, opt, ring.RecHeader, 0)
	rareAt := int64(ring.RecHeader)
	if err == nil && lay.ShortSize != 0 {
		rareAt = int64(lay.ShortSize) // now it is known where that ends
	}
	if err == nil && (lay.ShortSize != 0 || opt.Stop != nil) {
		p, lay, err = lower(s, opt, rareAt, int64(lay.RecordSize))
	}
	if err == nil && lay.ShortSize != 0 && opt.Stop != nil {
		p, lay, err = lower(s, opt, rareAt, int64(lay.RecordSize))
	}
	return p, lay, err
}

// lower is Lower with what is rare from rareAt on in the record, of that size.
func lower(s *Site, opt *Options, rareAt, size int64) (p *ir.Program, lay *Layout, err error) {
	l := &lowerer{
		recorder: &recorder{
			b: ir.NewBuilder(s.Name), opt: opt, lay: &Layout{}, size: ring.RecHeader,
			words: map[int64]int{}, rare: rarePart{at: rareAt},
		},
		lim: opt.Limits.withDefaults(), held: map[place]item{},
	}
	defer func() {
		r := recover()
		if e, ok := r.(unsupported); ok {
			p, lay, err = nil, nil, e.err
		} else if r != nil {
			panic(r)
		}
	}()
	if opt.Begun != nil {
		l.onceBegun(*opt.Begun)
	}
	if opt.Stop != nil {
		l.unlessStopped(opt.Stop)
	}
	if s.Cond != nil {
		if s.Cond.use != ForCondition {
			return nil, nil, errors.New("the condition was validated as an action")
		}
		l.condition(s.Cond)
	}
	if opt.Stop != nil {
		l.pass(opt.Stop)
		l.charge(opt.Stop, size)
	}
	l.reserve(s)
	for k := range s.Actions {
		l.action(k, &s.Actions[k])
	}
	l.b.Emit(ir.Instr{Op: ir.Commit})
	l.b.Exit()
	l.align(8)
	if l.rare.end != 0 {
		l.align(x87Align)
	}
	if size := max(l.size, l.rare.end); size > l.lim.Record {
		return nil, nil, fmt.Errorf("the actions collect up to %d bytes; a record holds %d", size, l.lim.Record)
	}
	p = l.b.Finish()
	l.finish(p)
	return p, l.lay, nil
}

// unsupported is thrown by whatever finds that the site cannot be lowered.
type unsupported struct{ err error }

// lowerer lowers the expressions of a site, on what recorder has.
type lowerer struct {
	*recorder
	lim Limits

	// Of the present expression:
	number int // of the action; -1: it is the condition
	sure   []bool
	stack  []item
	// held are the words of memory that were collected on the only way to here.
	held   map[place]item
	labels map[int]ir.BlockID
	fails  []failPath
	end    func()     // what end does
	cond   ir.BlockID // where the failures of the condition lead
	failAt int        // offset of the action's failure words; 0: none yet
}

// failPath is a block to be made: the action's end at a failing instruction.
type failPath struct {
	block ir.BlockID
	pc    int
	kind  Fail
}

// item is a value on the stack, and what is known of it: that it is off plus
// register base (a DWARF number; -1: off itself), or that it is off plus the word
// that the record has at an offset (0: unknown).
type item struct {
	v     ir.Value
	known bool
	base  int64
	word  int
	off   int64
}

// plus is what is known of the sum v of x and a number.
func (x item) plus(k int64, v ir.Value) item {
	x.v, x.off = v, x.off+k
	return x
}

// place is an address by what is known of it.
type place struct {
	base int64
	word int
	off  int64
}

// place gives the address that x is, to compare with others; false: it cannot.
func (x *item) place() (place, bool) {
	return place{x.base, x.word, x.off}, x.known || x.word != 0
}

func (x *item) constant() (int64, bool) { return x.off, x.known && x.base == -1 }

// condition emits the condition and its two unhappy ends; then the hit block.
func (l *lowerer) condition(e *Expr) {
	hit, miss := l.b.NewBlock("hit"), l.b.NewBlock("miss")
	l.cond = l.b.NewBlock("the condition cannot be evaluated", ir.I64)
	l.number = -1
	l.end = func() { l.b.Branch(l.pop().v, hit, miss) }
	l.expression(e)
	l.b.Start(miss)
	l.count(ring.CounterFalse)
	l.b.Exit()
	l.b.Start(l.cond)
	l.count(ring.CounterCondFault)
	l.b.Exit()
	l.b.Start(hit)
}

// action emits one action.
func (l *lowerer) action(k int, a *Action) {
	l.number, l.failAt, l.fails = k, 0, nil
	l.lay.fails = append(l.lay.fails, 0)
	if err := a.check(); err != nil {
		panic(unsupported{fmt.Errorf("action %d: %w", k+1, err)})
	}
	next := l.b.NewBlock(fmt.Sprintf("behind action %d", k+1))
	switch a.Kind {
	case CollectRegs:
		l.registers(a.Regs)
		l.b.Jump(next)
	case CollectMemory:
		l.memoryRange(a)
		l.b.Jump(next)
	case Evaluate:
		l.end = func() {
			if len(l.stack) > 0 && a.Value {
				l.value()
			}
			l.b.Jump(next)
		}
		l.expression(a.Expr)
	case CollectStatic:
		l.static()
		l.b.Jump(next)
	}
	l.e = nil
	l.failures(next)
	l.b.Start(next)
}

// failures emits what failing instructions of the action lead to.
func (l *lowerer) failures(next ir.BlockID) {
	for _, f := range l.fails {
		l.b.Start(f.block)
		word := int64(f.pc+1) | int64(f.kind)<<32
		if f.kind == BadMemory {
			l.put(8, l.failAt+8, l.b.Param(f.block, 0))
		}
		l.put(8, l.failAt, l.b.Const(word))
		l.b.Jump(next)
	}
	l.lay.fails[l.number] = l.failAt
}

// fail is the block that the present instruction leads to when it fails.
func (l *lowerer) fail(kind Fail) ir.BlockID {
	if l.number < 0 {
		return l.cond
	}
	if l.failAt == 0 {
		l.failAt = l.slot(failSize, 8)
	}
	f := failPath{kind: kind}
	if l.e != nil {
		f.pc = l.e.Insns[l.at].PC
	}
	if kind == BadMemory {
		f.block = l.b.NewBlock("unreadable", ir.I64)
	} else {
		f.block = l.b.NewBlock("division by zero")
	}
	l.fails = append(l.fails, f)
	return f.block
}

// guard is the fault edge for size bytes at x: none where they can be read.
func (l *lowerer) guard(x item, size int64) ir.BlockID {
	if x.known && l.opt.Trusted != nil && l.opt.Trusted(x.base, x.off, size) {
		return ir.NoBlock
	}
	return l.fail(BadMemory)
}

// expression emits e. Every way through it ends with l.end.
func (l *lowerer) expression(e *Expr) {
	l.e, l.stack, l.labels, l.sure, l.held = e, nil, map[int]ir.BlockID{}, e.certain(), map[place]item{}
	for i := range e.Insns {
		if e.Depth[i] < 0 {
			continue
		}
		in := &e.Insns[i]
		l.at = i
		if to, ok := l.labels[in.PC]; ok {
			if !l.b.Terminated() {
				l.b.Jump(to, l.values()...)
			}
			l.b.Start(to)
			l.stack = l.stack[:0]
			clear(l.held)
			for n := range e.Depth[i] {
				l.push(l.b.Param(to, n))
			}
		}
		lowers[in.Op](l, in)
	}
	l.e = nil
}

// label is the block of the instruction at pc, whose parameters are the stack.
func (l *lowerer) label(pc int) ir.BlockID {
	to, ok := l.labels[pc]
	if !ok {
		classes := make([]ir.Class, l.e.Depth[l.e.at[pc]])
		to = l.b.NewBlock("", classes...)
		l.labels[pc] = to
	}
	return to
}

func (l *lowerer) values() []ir.Value {
	list := make([]ir.Value, len(l.stack))
	for n := range l.stack {
		list[n] = l.stack[n].v
	}
	return list
}

func (l *lowerer) push(v ir.Value) { l.pushItem(item{v: v}) }

func (l *lowerer) pushItem(x item) { l.stack = append(l.stack, x) }

func (l *lowerer) pop() item {
	x := l.top()
	l.stack = l.stack[:len(l.stack)-1]
	return x
}

func (l *lowerer) top() item { return l.stack[len(l.stack)-1] }
