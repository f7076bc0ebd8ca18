package sema

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// tableOf declares a map in the program when it is first used.
func (em *emitter) tableOf(m *Map) int64 {
	n, ok := em.tables[m.Name]
	if !ok {
		if em.tables == nil {
			em.tables = map[string]int64{}
		}
		n = em.b.Map(m.IR())
		em.tables[m.Name] = n
	}
	return n
}

// found is a slot of a map.
type found struct {
	table int64
	slot  ir.Value
}

// find emits the search for a key. All operands are computed first: the words of a key are set in one block.
func (vs *values) find(op ir.Op, m *Map, key []keyExpr) found {
	table := vs.tableOf(m)
	ops := make([]ir.Value, len(key))
	counted := make([][]ir.Value, len(key))
	for i, k := range key {
		if ops[i] = vs.keyOperand(m, k); k.count != nil {
			counted[i] = vs.countedText(ops[i], vs.wide(k.count), k.Bytes)
		}
	}
	first, _ := m.Layout()
	zero := ir.None
	word := [2]ir.Value{ir.None, ir.None}
	for i, k := range key {
		switch at := int64(first[i]); {
		case k.count != nil:
			for n, v := range counted[i] {
				vs.keyWord(at+int64(n), v)
			}
		case k.Kind == KeyComm && vs.in.Kernel == nil:
			vs.keyWord(at, ops[i])
			for n := int64(1); n < int64(k.Bytes)/8; n++ {
				vs.keyWord(at+n, vs.b.Const(0))
			}
		case k.text():
			vs.keyText(k, ops[i], at)
		case at < 2:
			word[at] = ops[i]
		default:
			vs.keyWord(at, ops[i])
		}
	}
	for i := range word {
		if word[i] == ir.None {
			if zero == ir.None {
				zero = vs.b.Const(0)
			}
			word[i] = zero
		}
	}
	return found{table, vs.b.Def(ir.I64, ir.Instr{Op: op, Aux: table, A: word[0], B: word[1]})}
}

func (vs *values) keyOperand(m *Map, k keyExpr) ir.Value {
	switch {
	case k.Kind == KeyThread && m.Both && vs.in.Kernel == nil:
		return threadNumber(vs)
	case k.Kind == KeySite:
		return vs.env(ir.EnvSite)
	case (k.Kind == KeyThread || k.Kind == KeyComm) && vs.in.Kernel == nil:
		return vs.reg(ir.RegThread)
	case k.Kind == KeyThread:
		return vs.b.Un(ir.ZExt, 4, vs.env(ir.EnvPidTgid))
	case k.Kind == KeyStack && k.user:
		return userStack(vs, k.Frames)
	case k.Kind == KeyStack && vs.in.Kernel != nil:
		frames := int64(maxFrames)
		if k.Frames > 0 {
			frames = min(frames, int64(k.Frames))
		}
		return vs.b.Def(ir.I64, ir.Instr{Op: ir.StackID, A: ir.None, B: ir.None, Aux: 8 * frames, Fault: ir.NoBlock})
	case k.Kind == KeyStack:
		sp, fp := vs.reg(int64(processor.SP)), vs.reg(int64(processor.FP))
		return vs.b.Def(ir.I64, ir.Instr{Op: ir.Intern, A: sp, B: fp, Aux: 8 * int64(vs.in.StackFrames), Fault: ir.NoBlock})
	case k.lit != nil:
		return ir.None
	case k.text():
		return vs.value(k.x)
	}
	return vs.wide(k.x)
}

func (vs *values) keyWord(word int64, v ir.Value) {
	vs.b.Emit(ir.Instr{Op: ir.KeyWord, A: v, B: ir.None, Imm: word, Fault: ir.NoBlock})
}

// keyText sets the words of a text.
func (vs *values) keyText(k keyExpr, addr ir.Value, word int64) {
	if k.lit != nil {
		b := make([]byte, k.Bytes)
		copy(b, k.lit.v)
		for at := 0; at < len(b); at += 8 {
			vs.keyWord(word+int64(at/8), vs.b.Const(int64(binary.LittleEndian.Uint64(b[at:]))))
		}
		return
	}
	vs.b.Emit(ir.Instr{
		Op: ir.KeyText, A: addr, B: ir.None, Imm: word, Aux: k.bytes, W: 0,
		Fault: vs.traps.at(vs.emitter, trapUnreadable),
	})
	for at := (k.bytes + 7) / 8; at < int64(k.Bytes)/8; at++ {
		vs.keyWord(word+at, vs.b.Const(0))
	}
}

// countedText is the first size bytes of the n bytes of text at addr, as words, with zeros behind the text.
func (vs *values) countedText(addr, n ir.Value, size int) (words []ir.Value) {
	b, fault := vs.b, vs.traps.at(vs.emitter, trapUnreadable)
	for at := int64(0); at < int64(size); at += 8 {
		next := b.NewBlock("word", ir.I64)
		some, all, part := b.NewBlock("some"), b.NewBlock("all"), b.NewBlock("part")
		zero := b.NewBlock("none")
		b.BranchTo(b.Bin(ir.ULt, 8, b.Const(at), n), ir.Edge{To: some}, ir.Edge{To: zero}, true)
		b.Start(zero)
		b.Jump(next, b.Const(0))

		b.Start(some)
		left := b.Bin(ir.Sub, 8, n, b.Const(at))
		b.BranchTo(b.Bin(ir.ULt, 8, left, b.Const(8)), ir.Edge{To: part}, ir.Edge{To: all}, true)
		b.Start(all)
		b.Jump(next, b.Load(8, false, addr, at, fault))

		b.Start(part)
		b.Jump(next, vs.textEnd(b.Bin(ir.Add, 8, addr, b.Const(at)), left, fault))
		b.Start(next)
		words = append(words, b.Param(next, 0))
	}
	return words
}

// textEnd is the n (1 to 7) bytes at addr. It reads no page that has none of them: what lies in an aligned word is read with
// this word, and what does not has bytes on both sides of the end of one.
func (vs *values) textEnd(addr, n ir.Value, fault ir.BlockID) ir.Value {
	b, next := vs.b, vs.b.NewBlock("end of text", ir.I64)
	within, across := b.NewBlock("within a word"), b.NewBlock("across words")
	low := b.Bin(ir.And, 8, addr, b.Const(7))
	b.BranchTo(b.Bin(ir.ULt, 8, b.Bin(ir.Add, 8, low, n), b.Const(9)), ir.Edge{To: within}, ir.Edge{To: across}, true)
	b.Start(within)
	w := b.Load(8, false, b.Bin(ir.Sub, 8, addr, low), 0, fault)
	b.Jump(next, b.Bin(ir.Shr, 8, w, b.Bin(ir.Shl, 8, low, b.Const(3))))
	b.Start(across)
	b.Jump(next, b.Load(8, false, addr, 0, fault))
	b.Start(next)
	above := b.Bin(ir.Sub, 8, b.Const(64), b.Bin(ir.Shl, 8, n, b.Const(3)))
	return b.Bin(ir.Shr, 8, b.Bin(ir.Shl, 8, b.Param(next, 0), above), above)
}

// on emits an operation on an element without a result.
func (vs *values) on(e found, op ir.Op, word int64, v ir.Value) {
	vs.b.Emit(ir.Instr{Op: op, Aux: e.table, A: e.slot, B: v, Imm: word, Dst: ir.None, Fault: ir.NoBlock})
}

// mapRead emits a read of a number.
func (vs *values) mapRead(x *mapExpr) ir.Value {
	e := vs.find(ir.MapFind, x.m, x.key)
	if x.has {
		return vs.b.Def(ir.I64, ir.Instr{Op: ir.MapHas, Aux: e.table, A: e.slot, B: ir.None})
	}
	return vs.b.Def(ir.I64, ir.Instr{Op: ir.MapGet, Aux: e.table, A: e.slot, B: ir.None})
}

// actions emits the changes of maps.
func (l *lowerer) actions(list []*action) {
	l.follow(list)
	defer func() { l.followed = nil }()
	for _, a := range list {
		switch {
		case a.Map == nil && a.Do == Keep:
			l.keepLocal(a)
		case a.Map == nil && a.Do == Eval:
			l.evaluate(a)
		case a.Map == nil:
			l.leave(a)
		default:
			l.change(a, len(list) == 1)
		}
	}
}

// change emits the change of a map. only: there is no other action.
func (l *lowerer) change(a *action, only bool) {
	l.traps = &traps{}
	next := l.b.NewBlock("after " + a.Map.Name)
	if a.cond != nil {
		yes := l.b.NewBlock(a.Map.Name)
		l.branch(a.cond, yes, next)
		l.b.Start(yes)
	}
	l.action(a)
	l.b.Jump(next)
	l.traps.each(func(_ trap, blk ir.BlockID) {
		l.b.Start(blk)
		l.count(ring.CounterCondFault)
		if l.in.CountHits && only {
			l.b.Exit() // counted once
			return
		}
		l.b.Jump(next)
	})
	l.b.Start(next)
}

// keepLocal emits a Keep.
func (l *lowerer) keepLocal(a *action) {
	l.traps = &traps{}
	next := l.b.NewBlock("kept", ir.I64)
	if a.cond != nil {
		yes, no := l.b.NewBlock("keep"), l.b.NewBlock("not kept")
		l.branch(a.cond, yes, no)
		l.b.Start(no)
		l.b.Jump(next, l.b.Const(0))
		l.b.Start(yes)
	}
	l.b.Jump(next, l.wide(a.value))
	l.traps.each(func(_ trap, blk ir.BlockID) {
		l.b.Start(blk)
		l.count(ring.CounterCondFault)
		l.b.Jump(next, l.b.Const(0))
	})
	l.b.Start(next)
	if l.locals == nil {
		l.locals = map[int]ir.Value{}
	}
	l.locals[a.Local] = l.b.Param(next, 0)
}

// leave emits a Leave. If its condition cannot be evaluated, the hit goes on.
func (l *lowerer) leave(a *action) {
	l.traps = &traps{}
	next := l.b.NewBlock("stay")
	if a.cond != nil {
		yes := l.b.NewBlock("leave")
		l.branch(a.cond, yes, next)
		l.b.Start(yes)
	}
	if a.False {
		l.count(ring.CounterFalse)
	}
	l.b.Exit()
	l.traps.each(func(_ trap, blk ir.BlockID) {
		l.b.Start(blk)
		l.b.Jump(next)
	})
	l.b.Start(next)
}

func (l *lowerer) action(a *action) {
	m := a.Map
	v, index := ir.None, ir.None
	if a.value != nil {
		v = l.wide(a.value)
	}
	switch m.Kind {
	case MapHist:
		index = l.histIndex(v, m.Bits)
	case MapLinear:
		index = l.linearIndex(v, m)
	case MapMin, MapMax:
		v = l.ordered(v, m)
	}
	op := ir.MapSlot
	if a.Do == Delete {
		op = ir.MapFind
	}
	e := l.find(op, m, a.key)
	if m.Kind != MapNumber && m.Kind != MapSum && index == ir.None {
		l.on(e, ir.MapAdd, 0, l.b.Const(1))
	}
	switch {
	case a.Do == Delete && m.own() && !m.SetOnly: // a hit that interrupts this one adds to the element before it is deleted, or to 0
		l.on(e, ir.MapSet, 0, l.b.Const(0))
		l.on(e, ir.MapHide, 0, ir.None)
	case a.Do == Delete:
		l.on(e, ir.MapHide, 0, ir.None)
		if !m.SetOnly {
			l.on(e, ir.MapSet, 0, l.b.Const(0)) // for the next Update
		}
	case a.Do == Set:
		l.on(e, ir.MapSet, 0, v)
	case m.Kind == MapNumber || m.Kind == MapSum:
		l.on(e, ir.MapAdd, 0, v)
	case m.Kind == MapAvg || m.Kind == MapStats:
		l.on(e, ir.MapAdd, 1, v)
	case m.Kind == MapMin || m.Kind == MapMax:
		l.on(e, ir.MapMax, 1, v)
	case index != ir.None:
		l.on(e, ir.MapCount, 0, index)
	}
	if m.Shows() && a.Do != Delete {
		l.on(e, ir.MapShow, 0, ir.None)
	}
}

// ordered makes a number whose order, unsigned, is that of the values; for the smallest the reverse.
func (l *lowerer) ordered(v ir.Value, m *Map) ir.Value {
	if !m.Unsigned {
		v = l.b.Bin(ir.Xor, 8, v, l.b.Const(-1<<63))
	}
	if m.Kind == MapMin {
		v = l.b.Un(ir.Not, 8, v)
	}
	return v
}

// histIndex is HistIndex, without branches: of numbers below 2^(k+1) the power is 0.
func (l *lowerer) histIndex(v ir.Value, k uint) ir.Value {
	b := l.b
	n := b.Un(ir.BitLen, 8, b.Bin(ir.Or, 8, v, b.Const(2<<k-1)))
	power := b.Bin(ir.Sub, 8, n, b.Const(int64(k)+1))
	index := b.Bin(ir.Shr, 8, v, power)
	if k > 0 {
		index = b.Bin(ir.Add, 8, index, b.Bin(ir.Shl, 8, power, b.Const(int64(k))))
	} else {
		index = b.Bin(ir.Add, 8, index, power)
	}
	index = b.Bin(ir.Add, 8, index, b.Const(1))
	negative := b.Bin(ir.Sar, 8, v, b.Const(63))
	return b.Bin(ir.And, 8, index, b.Un(ir.Not, 8, negative))
}

// linearIndex is the range of a value in a linear histogram.
func (l *lowerer) linearIndex(v ir.Value, m *Map) ir.Value {
	b := l.b
	low, inside, above := b.NewBlock("not below"), b.NewBlock("in a range"), b.NewBlock("range", ir.I64)
	below := b.Bin(ir.SLt, 8, v, b.Const(m.Low))
	b.BranchTo(below, ir.Edge{To: above, Args: []ir.Value{b.Const(0)}}, ir.Edge{To: low}, false)
	b.Start(low)
	over := b.Bin(ir.SLe, 8, b.Const(m.High), v)
	b.BranchTo(over, ir.Edge{To: above, Args: []ir.Value{b.Const(int64(m.Words()) - 1)}}, ir.Edge{To: inside}, false)
	b.Start(inside)
	n := b.Bin(ir.UDiv, 8, b.Bin(ir.Sub, 8, v, b.Const(m.Low)), b.Const(m.Step))
	b.Jump(above, b.Bin(ir.Add, 8, n, b.Const(1)))
	b.Start(above)
	return b.Param(above, 0)
}
