package sema

import (
	"slices"

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
//	hit:   reserve, the fields in order, commit, exit; of a stack that is followed at the hit first its
//	       number, since the record is short if there is one
//
// The blocks that handle a field's faults lie behind the field's code and lead
// to the next field.
type lowerer struct {
	*emitter
	*values
	*decisions
	rec    record
	walked fieldSlots // of the program's stack, if it is followed at the hit
}

func newLowerer(in *Input) *lowerer {
	em := &emitter{in: in, b: ir.NewBuilder(in.Place), params: map[ir.BlockID]int{}, frame: frameBase(in.Scope.CFA())}
	return &lowerer{emitter: em, values: &values{em}, decisions: &decisions{em}}
}

func lower(in *Input, need *pairs, cond expr, acts []*action, plans []*plan) *Output {
	l := newLowerer(in)
	if in.Kernel != nil {
		l.filters()
	}
	if x := in.Exit; x != nil && x.Taken != nil {
		l.leaveUnless(x.Taken(l.b, l.reg(int64(processor.Flags))))
	}
	if in.Ended != 0 {
		l.leaveUnless(l.b.Bin(ir.Eq, 8, readVariable(l.b, in.Ended), l.b.Const(0)))
	}
	if need.used() {
		l.findEntry(in.Exit.Pair, need)
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
	early := slices.ContainsFunc(acts, func(a *action) bool { return a.Do == Eval })
	if early {
		bounded(l, plans)
	}
	sequence := inParts(acts)
	if !sequence {
		l.actions(acts)
	}
	if in.NoRecord {
		if sequence {
			l.sequence(acts, nil)
		}
		if in.CountHits {
			l.count(ring.CounterComputed)
		}
		l.b.Exit()
		return l.output(nil)
	}
	if !early { // hits that leave no record set no variable
		bounded(l, plans)
	}
	l.reserve(plans)
	comm := slotID(0)
	if in.Kernel != nil {
		comm = l.takeComm()
	}
	if sequence {
		l.sequence(acts, plans)
	} else {
		for _, p := range plans {
			l.field(p)
		}
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
	size, short := l.rec.finish(prog)
	fields := make([]event.Field, 0, len(plans))
	for _, p := range plans {
		fields = append(fields, l.rec.describe(p))
	}
	return &Output{Program: prog, Schema: event.Schema{
		SiteID: in.SiteID, Place: in.Place, Function: in.Function, File: in.File, Line: in.Line,
		PC: in.Scope.PC() + in.Bias, RecordSize: size, ShortSize: short, StackNumber: max(0, l.rec.offset(l.rec.number)),
		Fields: fields, Elapsed: l.stamped(plans, fields), Kernel: in.Kernel != nil, NoRecord: in.NoRecord,
	}}
}

// reserve begins the record.
func (l *lowerer) reserve(plans []*plan) {
	emit := func(form int64) {
		l.b.Emit(ir.Instr{Op: ir.Reserve, Imm: form, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
	}
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.mode == asTables }) {
		long, short, fields := l.b.NewBlock("no tables of the process"), l.b.NewBlock("tables of the process"), l.b.NewBlock("fields")
		stack := programStack{l}
		l.walked = stack.room()
		l.b.Branch(l.env(ir.EnvTables), short, long)
		l.b.Start(long)
		emit(longRecord)
		stack.copy(l.walked.copied)
		l.b.Jump(fields)
		l.b.Start(short)
		emit(shortRecord)
		stack.follow(l.walked.value)
		l.b.Jump(fields)
		l.b.Start(fields)
		return
	}
	if l.in.Kernel != nil || !slices.ContainsFunc(plans, func(p *plan) bool { return p.mode == asWalk }) {
		emit(longRecord)
		return
	}
	n := 8 * int64(l.in.StackFrames)
	sp, fp := l.reg(int64(processor.SP)), l.reg(int64(processor.FP))
	number := l.b.Def(ir.I64, ir.Instr{Op: ir.Intern, A: sp, B: fp, Aux: n, Fault: ir.NoBlock})
	long, short, fields := l.b.NewBlock("stack without number"), l.b.NewBlock("stack with number"), l.b.NewBlock("fields")
	l.b.BranchTo(l.b.Bin(ir.Eq, 8, number, l.b.Const(0)), ir.Edge{To: long}, ir.Edge{To: short}, true)
	l.b.Start(long)
	emit(longRecord)
	l.walked = fieldSlots{value: l.rec.add(slot{size: countedHeader + n, align: 8, long: true}), size: countedHeader + n}
	l.b.Emit(ir.Instr{Op: ir.Walk, Dst: ir.None, A: sp, B: fp, Imm: l.walked.value.imm(0), Aux: n, Fault: ir.NoBlock})
	l.b.Jump(fields)
	l.b.Start(short)
	emit(shortRecord)
	l.rec.number = l.rec.add(slot{size: 4, align: 4})
	l.put(number, 4, l.rec.number.imm(0))
	l.b.Jump(fields)
	l.b.Start(fields)
}

// frameBase recognises the rule "CFA = register + constant".
func frameBase(cfa []debuginfo.Op) int64 {
	if len(cfa) == 0 || len(cfa) > 2 || cfa[0].Code != debuginfo.OpReg ||
		len(cfa) == 2 && cfa[1].Code != debuginfo.OpAddConst {
		return -1
	}
	return cfa[0].Arg
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
