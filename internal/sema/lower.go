package sema

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// lowerer emits one hit program:
//
//	entry: in the kernel engine, the filters; the condition, as branches
//	miss:  count CounterFalse, exit
//	fault: count CounterCondFault, exit
//	hit:   reserve, the fields in order, commit, exit
//
// The blocks that handle a field's faults lie behind the field's code and lead
// to the next field.
type lowerer struct {
	in     *Input
	b      *ir.Builder
	frame  int64 // the register that the CFA rule counts from: slots there are readable; -1: none
	params map[ir.BlockID]int
	traps  *traps
	rec    record
}

func lower(in *Input, cond expr, plans []*plan) *Output {
	l := &lowerer{in: in, b: ir.NewBuilder(in.Place), params: map[ir.BlockID]int{}, frame: frameBase(in.Scope.CFA())}
	if in.Kernel != nil {
		l.filters()
	}
	if cond != nil {
		l.condition(cond)
	}
	if in.Kernel != nil && l.decides(1) {
		return l.output(nil)
	}
	if in.Kernel != nil && in.Kernel.Self != 0 {
		l.leaveSelf(in.Kernel.Self)
	}
	l.b.Emit(ir.Instr{Op: ir.Reserve, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
	comm := slotID(0)
	if in.Kernel != nil {
		comm = l.takeComm()
	}
	for _, p := range plans {
		l.field(p)
	}
	l.b.Emit(ir.Instr{Op: ir.Commit, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
	l.b.Exit()
	out := l.output(plans)
	if comm != 0 {
		out.Schema.CommOffset = l.rec.offset(comm)
		out.Schema.TextArrays = !in.Kernel.User
	}
	return out
}

// output ends the program and describes its records.
func (l *lowerer) output(plans []*plan) *Output {
	in := l.in
	prog := l.b.Finish()
	size := l.rec.finish(prog)
	fields := make([]event.Field, 0, len(plans))
	for _, p := range plans {
		fields = append(fields, l.rec.describe(p))
	}
	return &Output{Program: prog, Schema: event.Schema{
		SiteID: in.SiteID, Place: in.Place, Function: in.Function, File: in.File, Line: in.Line,
		PC: in.Scope.PC() + in.Bias, RecordSize: size, Fields: fields, Kernel: in.Kernel != nil,
	}}
}

// frameBase recognises the rule "CFA = register + constant".
func frameBase(cfa []debuginfo.Op) int64 {
	if len(cfa) == 0 || len(cfa) > 2 || cfa[0].Code != debuginfo.OpReg ||
		len(cfa) == 2 && cfa[1].Code != debuginfo.OpAddConst {
		return -1
	}
	return cfa[0].Arg
}

// frameReg reports whether addresses relative to DWARF register n are stack slots: always for the stack
// pointer, for another register if the CFA rule uses it.
func (l *lowerer) frameReg(n int64) trust {
	if l.in.Kernel != nil { // whose stack it is, and whether it is paged in, is not known
		return noTrust
	}
	switch n {
	case int64(processor.SP):
		return fromSP
	case l.frame:
		return fromFP
	}
	return noTrust
}

// reg reads DWARF register n. The instruction pointer is known, but in the kernel
// engine only where it says so: one program serves all processes, or many sites.
func (l *lowerer) reg(n int64) ir.Value {
	switch k := l.in.Kernel; {
	case n == ir.RegPC && k == nil:
		return l.b.Const(int64(l.in.Scope.PC() + l.in.Bias))
	case n == ir.RegPC && k.PC != 0:
		return l.b.Const(int64(k.PC))
	}
	return l.b.Reg(n)
}

// condition emits the condition and its two unhappy ends; then the hit block.
func (l *lowerer) condition(cond expr) {
	l.traps = &traps{}
	hit, miss := l.b.NewBlock("hit"), l.b.NewBlock("miss")
	l.branch(cond, hit, miss)
	l.b.Start(miss)
	l.count(ring.CounterFalse)
	l.decline()
	l.b.Exit()
	l.traps.each(func(_ trap, blk ir.BlockID) {
		l.b.Start(blk)
		l.count(ring.CounterCondFault)
		l.decline()
		l.b.Exit()
	})
	l.b.Start(hit)
}

func (l *lowerer) count(counter int64) {
	l.b.Emit(ir.Instr{Op: ir.Count, Imm: counter, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// trap is a way in which an evaluation can fail at the hit.
type trap uint8

const (
	trapUnreadable trap = iota // its block has the address as parameter
	trapDivide
	trapBounds
	numTraps
)

var (
	trapStatus = [numTraps]event.Status{event.Unreadable, event.DivideByZero, event.BadBounds}
	trapNotes  = [numTraps]string{"unreadable", "division by zero", "bad count"}
)

// traps are the blocks that the faults of one field (or the condition) lead to,
// made when first needed.
type traps struct {
	block [numTraps]ir.BlockID
	made  [numTraps]bool
}

func (t *traps) at(l *lowerer, k trap) ir.BlockID {
	if !t.made[k] {
		var params []ir.Class
		if k == trapUnreadable {
			params = []ir.Class{ir.I64}
		}
		t.block[k], t.made[k] = l.b.NewBlock(trapNotes[k], params...), true
	}
	return t.block[k]
}

func (t *traps) each(f func(trap, ir.BlockID)) {
	for k := range numTraps {
		if t.made[k] {
			f(k, t.block[k])
		}
	}
}

func (t *traps) any() bool { return t.made != [numTraps]bool{} }
