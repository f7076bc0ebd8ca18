package sema

import (
	"fmt"
	"math"
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/ring"
)

// $elapsed and @entry(x) at a return need the entry of the same call. A program at the function's first instruction
// keeps the time and the values in a map, under the address of the frame, which the program at the return looks up and
// deletes. The frame of a call that has not returned has an address of its own, whatever thread or coroutine it is
// of. A call that is left by an exception or longjmp leaves its key, which the next call with a frame there takes over. In Go the
// key is the goroutine and the distance from the end of its stack, which stays when the stack is moved.

// Pair describes how the entry of a call is found at the return.
type Pair struct {
	Entry    *Input // of the function's first instruction
	Function uint64 // the run-time address of that
	Go       bool   // by Go's calling convention r14 is the goroutine
	// Rate is nanoseconds for each tick of the time stamp counter. Stamped: records have its value.
	Rate    float64
	Stamped bool
}

// EntriesMap is the name of a map of entries.
const EntriesMap = "entries"

// The keys that a map of entries has room for, about.
const pairSlots = 1 << 16

// maxKept bounds the values of a map of entries: the time, the values and their status.
const maxKept = ir.MaxMapWords - 2

// pairs is what expressions need of the entry.
type pairs struct {
	elapsed bool
	early   bool // the condition needs the time
	kept    []*keptValue
}

// keptValue is a value that the entry keeps.
type keptValue struct {
	from lang.Text
	span lang.Span
	name string // of the variable, if x is one: those of $args have one span
	x    expr
	reg  int  // if not 0, x is this register
	may  bool // it may be that it cannot be read
}

func (p *pairs) used() bool { return p.elapsed || len(p.kept) > 0 }

// The words of the value: the time, the values, and a bit for each value that could not be read.
func (p *pairs) word(n int) int64 { return int64(1 + n) }
func (p *pairs) status() int64    { return int64(1 + len(p.kept)) }
func (p *pairs) words() int       { return 2 + len(p.kept) }

// needPair makes sure that entries are found.
func (st *site) needPair(what string, span lang.Span) {
	switch x := st.in.Exit; {
	case x == nil:
		st.fail(span, what+" is known at the returns of a function only", "FUNCTION%return is a place at the returns of a function")
	case x.Pair == nil:
		st.fail(span, what+" is not available: "+x.NoPair, "")
	}
}

// elapsedTime is $elapsed.
func (c *checker) elapsedTime(span lang.Span) expr {
	c.needPair("$elapsed", span)
	if c.in.Exit.Pair.Rate <= 0 {
		c.fail(span, "$elapsed is not available: the rate of the time stamp counter is not known", "")
	}
	c.pairs.elapsed = true
	c.pairs.early = c.pairs.early || c.inCond
	return &elapsedExpr{typed: typed{ctype.ULongT, span}}
}

// fromStamp has the reader of a record compute an item that is $elapsed itself, from the stamp of the record.
func (co *collector) fromStamp(p *plan) {
	if e, ok := p.x.(*elapsedExpr); ok && p.mode == asValue && co.in.Exit.Pair.Stamped {
		e.since = true
	}
}

// sinceEntry: the condition has not read the time, which the record shows then.
func (em *emitter) sinceEntry(e *elapsedExpr) bool { return e.since && em.pair.now == ir.None }

// stamped returns the slots of a record that fromStamp has chosen.
func (l *lowerer) stamped(plans []*plan, fields []event.Field) (list []event.Elapsed) {
	for i, p := range plans {
		if e, ok := p.x.(*elapsedExpr); ok && l.sinceEntry(e) {
			list = append(list, event.Elapsed{Offset: fields[i].Offset, Status: fields[i].StatusOffset, Rate: l.in.Exit.Pair.Rate})
		}
	}
	return list
}

// entryCall is @entry(x).
func (c *checker) entryCall(x *lang.Call) expr {
	if len(x.Args) != 1 {
		c.fail(x.Span(), "@entry needs one expression", "@entry(x)")
	}
	c.needPair("@entry", x.Span())
	at := newChecker(withDefaults(c.in.Exit.Pair.Entry))
	at.from = c.from
	e := at.value(x.Args[0])
	if t := e.Type().Strip(); !isScalar(t) || t.Size > 8 {
		c.fail(x.Span(), fmt.Sprintf("only numbers and pointers can be kept from the entry, this is %s", typeString(e.Type())), "")
	}
	k := &keptValue{from: c.from, span: x.Span(), x: e}
	if id, ok := x.Args[0].(*lang.Ident); ok {
		k.name = id.Name
	}
	return c.kept(k, e.Type(), x.Span())
}

// atPassed is the object of type t at the address that a register has at the entry.
func (st *site) atPassed(t *ctype.Type, reg int, span lang.Span) expr {
	st.needPair("the return value", span)
	e := &load{typed{ctype.ULongT, span}, regRef("", ctype.ULongT, reg, 0, span)}
	p := ctype.PointerTo(t)
	return &deref{typed{t, span}, st.kept(&keptValue{x: e, reg: reg}, p, span)}
}

// kept adds a value that the entry keeps, unless it is kept already.
func (st *site) kept(k *keptValue, t *ctype.Type, span lang.Span) expr {
	n := slices.IndexFunc(st.pairs.kept, func(o *keptValue) bool {
		return o.reg == k.reg && (k.reg != 0 || o.from == k.from && o.span == k.span && o.name == k.name)
	})
	if n < 0 {
		n = len(st.pairs.kept)
		st.pairs.kept = append(st.pairs.kept, k)
	}
	if n == maxKept {
		st.fail(span, fmt.Sprintf("more than %d values of the entry", maxKept), "")
	}
	return &keptExpr{typed{t, span}, n}
}

// paired is the entry of the call, in the program at the return.
type paired struct {
	need  *pairs
	rate  float64
	table int64
	slot  ir.Value
	now   ir.Value // the time, if it is read before the record is reserved
}

// key emits the key of the call, at its entry or return: there the stack pointer is the same.
func (l *lowerer) key(p *Pair, none ir.BlockID) (k0, k1 ir.Value) {
	sp := l.reg(int64(processor.SP))
	if !p.Go {
		return sp, l.b.Const(int64(p.Function))
	}
	g := l.b.Reg(goroutine)
	top := l.b.Load(8, false, g, stackTop, none)
	depth := l.b.Bin(ir.Sub, 8, top, sp)
	return l.b.Bin(ir.Add, 8, depth, l.b.Const(int64(p.Function<<32))), g
}

// In Go's ABIInternal for x86-64 r14 has the address of the goroutine's runtime.g, which begins with the bounds of its stack.
const (
	goroutine = 14
	stackTop  = 8
)

// onMap emits an operation on the map of entries without a result.
func (l *lowerer) onMap(op ir.Op, word int64, v ir.Value) {
	l.b.Emit(ir.Instr{Op: op, Aux: l.pair.table, A: l.pair.slot, B: v, Imm: word, Dst: ir.None})
}

// ofMap emits an operation on the map of entries with a result.
func (em *emitter) ofMap(op ir.Op, word int64) ir.Value {
	return em.b.Def(ir.I64, ir.Instr{Op: op, Aux: em.pair.table, A: em.pair.slot, B: ir.None, Imm: word})
}

// look emits the search for the key.
func (l *lowerer) look(op ir.Op, p *Pair, need *pairs) {
	table := l.b.Map(ir.Map{Name: EntriesMap, Words: need.words(), Slots: pairSlots})
	none := ir.NoBlock
	if p.Go {
		none = l.b.NewBlock("no goroutine", ir.I64)
	}
	k0, k1 := l.key(p, none)
	slot := l.b.Def(ir.I64, ir.Instr{Op: op, Aux: table, A: k0, B: k1})
	l.pair = paired{need: need, rate: p.Rate, table: table, slot: slot, now: ir.None}
	if !p.Go {
		return
	}
	next := l.b.NewBlock("goroutine")
	l.b.Jump(next)
	l.b.Start(none)
	l.b.Exit()
	l.b.Start(next)
}

// countUnpaired is the counter, at a return, of calls whose entry was not seen; at an entry, of calls that were left
// without a return.
const countUnpaired = 3

// findEntry emits what finds the entry of the call and deletes it. Its words can still be read: nothing else enters
// a function with this frame before control leaves.
func (l *lowerer) findEntry(p *Pair, need *pairs) {
	l.look(ir.MapFind, p, need)
	if need.early {
		l.pair.now = l.ticks()
	}
	unseen, next := l.b.NewBlock("the entry was not seen"), l.b.NewBlock("paired")
	l.b.Branch(l.ofMap(ir.MapHas, 0), next, unseen)
	l.b.Start(unseen)
	l.count(countUnpaired)
	l.b.Jump(next)
	l.b.Start(next)
	l.onMap(ir.MapHide, 0, ir.None)
}

func (em *emitter) ticks() ir.Value {
	return em.b.Def(ir.I64, ir.Instr{Op: ir.Ticks, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// needEntry leaves by a trap if the entry was not seen.
func (em *emitter) needEntry() {
	next := em.b.NewBlock("paired")
	em.b.Branch(em.ofMap(ir.MapHas, 0), next, em.traps.at(em, trapNoEntry))
	em.b.Start(next)
}

// unless leaves by a trap if v is not 0.
func (em *emitter) unless(v ir.Value, k trap) {
	next := em.b.NewBlock("paired")
	em.b.BranchTo(v, ir.Edge{To: em.traps.at(em, k)}, ir.Edge{To: next}, true)
	em.b.Start(next)
}

// elapsed emits $elapsed.
func (vs *values) elapsed(e *elapsedExpr) ir.Value {
	b := vs.b
	vs.needEntry()
	if vs.sinceEntry(e) {
		return vs.ofMap(ir.MapGet, 0)
	}
	now := vs.pair.now
	if now == ir.None {
		now = vs.ticks()
	}
	ticks := b.Bin(ir.Sub, 8, now, vs.ofMap(ir.MapGet, 0))
	return vs.scaled(ticks, vs.pair.rate)
}

// scaled is a number of ticks in nanoseconds: a fixed-point product, by halves, without overflow and exact to 2^-28.
func (em *emitter) scaled(ticks ir.Value, rate float64) ir.Value {
	b := em.b
	factor := b.Const(int64(scale(rate)))
	high := b.Bin(ir.Mul, 8, b.Bin(ir.Shr, 8, ticks, b.Const(32)), factor)
	low := b.Bin(ir.Mul, 8, b.Un(ir.ZExt, 4, ticks), factor)
	return b.Bin(ir.Add, 8, b.Bin(ir.Shl, 8, high, b.Const(32-scaleBits)), b.Bin(ir.Shr, 8, low, b.Const(scaleBits)))
}

// scaleBits are those of a rate's fraction.
const scaleBits = 28

// scale is a rate as a fixed-point number.
func scale(rate float64) uint64 { return uint64(int64(math.Round(rate * (1 << scaleBits)))) }

// nsecs emits @nsecs().
func (vs *values) nsecs() ir.Value {
	at := vs.in.Moment
	passed := vs.b.Bin(ir.Sub, 8, vs.ticks(), vs.b.Const(int64(at.Ticks)))
	now := vs.b.Bin(ir.Add, 8, vs.scaled(passed, at.Rate), vs.b.Const(int64(at.NS)))
	if at.Corrected {
		now = vs.b.Bin(ir.Add, 8, now, vs.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, A: ir.None, B: ir.None, Imm: ring.ClockVariable, Fault: ir.NoBlock}))
	}
	return now
}

// keptValue emits @entry(x).
func (vs *values) keptValue(e *keptExpr) ir.Value {
	b := vs.b
	vs.needEntry()
	if vs.pair.need.kept[e.n].may {
		failed := b.Bin(ir.And, 8, vs.ofMap(ir.MapGet, vs.pair.need.status()), b.Const(1<<e.n))
		vs.unless(failed, trapAtEntry)
	}
	v := vs.ofMap(ir.MapGet, vs.pair.need.word(e.n))
	if isFloat(e.t) {
		return b.Def(classOf(e.t), ir.Instr{Op: ir.BitsF, A: v, B: ir.None})
	}
	return v
}

// lowerEntry emits the program at the entry.
func lowerEntry(p *Pair, need *pairs) *ir.Program {
	l := newLowerer(withDefaults(p.Entry))
	status := l.b.Const(0)
	values := make([]ir.Value, len(need.kept))
	fails := false
	for n, k := range need.kept {
		values[n], status = l.keep(k, status, n)
		fails = fails || k.may
	}
	l.look(ir.MapSlot, p, need)
	full, on := l.b.NewBlock("no room"), l.b.NewBlock("entry")
	l.b.Branch(l.ofMap(ir.MapHas, 0), on, full)
	l.b.Start(full)
	l.b.Exit()
	l.b.Start(on)
	stale, fresh := l.b.NewBlock("a call was left without a return"), l.b.NewBlock("keep")
	l.b.BranchTo(l.ofMap(ir.MapSeen, 0), ir.Edge{To: stale}, ir.Edge{To: fresh}, true)
	l.b.Start(stale)
	l.count(countUnpaired)
	l.b.Jump(fresh)
	l.b.Start(fresh)
	for n, v := range values {
		l.onMap(ir.MapSet, need.word(n), v)
	}
	if fails {
		l.onMap(ir.MapSet, need.status(), status)
	}
	if need.elapsed {
		l.onMap(ir.MapSet, 0, l.ticks())
	}
	l.onMap(ir.MapShow, 0, ir.None)
	l.b.Exit()
	return l.b.Finish()
}

// keep emits a value at the entry, as a word. If it cannot be read, bit n of the status is set.
func (l *lowerer) keep(k *keptValue, status ir.Value, n int) (v, newStatus ir.Value) {
	l.traps = &traps{}
	v = l.value(k.x)
	if isFloat(k.x.Type()) {
		v = l.b.Def(ir.I64, ir.Instr{Op: ir.FBits, A: v, B: ir.None})
	}
	if k.may = l.traps.any(); !k.may {
		return v, status
	}
	next := l.b.NewBlock("kept", ir.I64, ir.I64)
	l.b.Jump(next, v, status)
	l.traps.each(func(_ trap, blk ir.BlockID) {
		l.b.Start(blk)
		l.b.Jump(next, l.b.Const(0), l.b.Bin(ir.Or, 8, status, l.b.Const(1<<n)))
	})
	l.b.Start(next)
	return l.b.Param(next, 0), l.b.Param(next, 1)
}
