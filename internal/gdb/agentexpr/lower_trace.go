package agentexpr

import "github.com/jalon-trace/jalon/internal/ir"

// setVar sets a variable. An addition such as "$n = $n + 1" is atomic if the sum is not used, so several
// threads can count without losing hits.
func (l *lowerer) setVar(in *Insn) {
	v := l.variable(int(in.Arg))
	switch {
	case v.Now:
		l.refuse("the time cannot be set")
	case v.Read != nil, v.Absent != "":
		l.refuse("trace state variable %d is predefined and cannot be set", in.Arg)
	}
	x := l.top()
	if by, ok := l.increment(in.Arg); ok {
		l.b.Emit(ir.Instr{Op: ir.AddVar, Imm: v.Index, A: by})
		return
	}
	l.b.Emit(ir.Instr{Op: ir.SetVar, Imm: v.Index, A: x.v})
}

// increment recognises the code that GDB makes for "$n = $n + constant", "$n +=
// constant" and their differences, of which only the variable keeps the result:
//
//	getv n [tracev n] const [ext] add|sub [ext 64] setv n [tracev n] pop|end
//
// It returns what is added.
func (l *lowerer) increment(n uint64) (ir.Value, bool) {
	after := 0
	if l.next(OpTracev) {
		after = 1
	}
	if !l.nextBut(after, OpPop) && !l.nextBut(after, OpEnd) {
		return ir.None, false
	}
	i := l.at
	back := func(ok func(*Insn) bool) *Insn {
		if l.e.targets[l.e.Insns[i].PC] || i == 0 || l.e.Depth[i-1] < 0 || !ok(&l.e.Insns[i-1]) {
			return nil
		}
		i--
		return &l.e.Insns[i]
	}
	is := func(op Op, arg uint64) func(*Insn) bool {
		return func(in *Insn) bool { return in.Op == op && in.Arg == arg }
	}
	back(is(OpExt, 64))
	subtract := back(is(OpSub, 0)) != nil
	if !subtract && back(is(OpAdd, 0)) == nil {
		return ir.None, false
	}
	ext := back(func(in *Insn) bool { return in.Op == OpExt })
	number := back(func(in *Insn) bool { return in.Op >= OpConst8 && in.Op <= OpConst64 })
	if number == nil {
		return ir.None, false
	}
	back(is(OpTracev, n))
	if back(is(OpGetv, n)) == nil {
		return ir.None, false
	}
	by := int64(number.Arg)
	if ext != nil {
		by = by << (64 - ext.Arg) >> (64 - ext.Arg)
	}
	if subtract {
		by = -by
	}
	return l.b.Const(by), true
}

// block adds a slot for what the present instruction collects.
func (l *lowerer) block(s BlockSlot) *BlockSlot {
	s.Action, s.Certain = l.number, true
	if l.e != nil {
		s.PC, s.Certain = l.e.Insns[l.at].PC, l.sure[l.at]
	}
	if !s.Certain {
		s.Present = l.slot(1, 1)
	}
	l.lay.Blocks = append(l.lay.Blocks, s)
	return &l.lay.Blocks[len(l.lay.Blocks)-1]
}

// done marks a block as collected.
func (l *lowerer) done(s *BlockSlot) {
	if !s.Certain {
		l.put(1, s.Present, l.b.Const(1))
	}
}

func (l *lowerer) traceVar(in *Insn) {
	v := l.variable(int(in.Arg))
	s := l.block(BlockSlot{Kind: VarBlock, Var: int(in.Arg), Now: v.Now})
	if !v.Now {
		s.Offset = l.slot(8, 8)
		l.put(8, s.Offset, l.readVar(v))
	}
	l.done(s)
}

// value collects what is on top of the stack at an end.
func (l *lowerer) value() {
	s := l.block(BlockSlot{Kind: ValueBlock})
	s.PC = len(l.e.Code)
	s.Offset = l.slot(8, 8)
	l.put(8, s.Offset, l.top().v)
	l.done(s)
}

// where keeps an address for the reader: a constant, an offset from a word that is in
// the record (a register, or a pointer that was collected), or the address itself.
func (l *lowerer) where(x item) address {
	if x.known && x.base == -1 {
		return address{off: x.off}
	}
	if x.word != 0 {
		return address{word: x.word, off: x.off}
	}
	if x.known {
		if at, ok := l.words[x.base]; ok {
			return address{word: at, off: x.off}
		}
	}
	at := l.slot(8, 8)
	v, off := x.v, int64(0)
	if x.known {
		v, off = l.b.Reg(x.base), x.off
		if l.e == nil || l.sure[l.at] && len(l.fails) == 0 {
			l.words[x.base] = at // it is written whatever happens
		}
	}
	l.put(8, at, v)
	return address{word: at, off: off}
}

func (l *lowerer) traceTop(in *Insn) { l.collect(l.top(), int64(in.Arg)) }

func (l *lowerer) trace(*Insn) {
	n, addr := l.pop(), l.pop()
	if k, ok := l.e.sizeBefore(l.at); ok {
		l.collect(addr, l.blockSize(k))
		return
	}
	s := l.memory(addr)
	s.Counted, s.Size = true, int(l.lim.Block)
	s.Offset = l.slot(ir.CountedHeader+l.lim.Block, 8)
	l.b.Emit(ir.Instr{Op: ir.CopyN, A: addr.v, B: n.v, Imm: int64(s.Offset), Aux: l.lim.Block, Fault: l.fail(BadMemory)})
	l.done(s)
}

// blockSize checks a size that is known.
func (l *lowerer) blockSize(n uint64) int64 {
	if n > uint64(l.lim.Record) {
		l.refuse("%d bytes of memory; a record holds %d", n, l.lim.Record)
	}
	return int64(n)
}

// memory adds a block for memory at addr.
func (l *lowerer) memory(addr item) *BlockSlot {
	w := l.where(addr)
	s := l.block(BlockSlot{})
	s.Addr = w
	return s
}

// collect copies n bytes at addr. What one load can read is loaded, so that a load
// of the same bytes by the expression is one with it.
func (l *lowerer) collect(addr item, n int64) {
	s := l.memory(addr)
	s.Size = int(n)
	switch n {
	case 0:
	case 1, 2, 4, 8:
		s.Offset = l.slot(n, n)
		v := l.load(addr, uint8(n))
		l.put(uint8(n), s.Offset, v)
		if k, ok := addr.place(); ok && n == 8 {
			l.held[k] = item{v: v, word: s.Offset}
		}
	default:
		s.Offset = l.slot(n, 8)
		l.b.Emit(ir.Instr{Op: ir.Copy, A: addr.v, Imm: int64(s.Offset), Aux: n, Fault: l.guard(addr, n)})
	}
	l.done(s)
}

func (l *lowerer) traceString(*Insn) {
	_, addr := l.pop(), l.pop()
	k, _ := l.e.sizeBefore(l.at)
	n := l.blockSize(k)
	s := l.memory(addr)
	s.Counted, s.Text, s.Size = true, true, int(n)
	s.Offset = l.slot(ir.CountedHeader+n, 8)
	l.b.Emit(ir.Instr{Op: ir.CopyStr, W: 1, A: addr.v, Imm: int64(s.Offset), Aux: n, Fault: l.fail(BadMemory)})
	l.done(s)
}

// printf takes function and channel, which are GDB's business, and the arguments.
// A string that cannot be read is missing and no failure, as in gdbserver.
func (l *lowerer) printf(in *Insn) {
	l.pop()
	l.pop()
	slot := l.block(BlockSlot{Kind: PrintBlock, Format: in.Format})
	which := len(l.lay.Blocks) - 1
	isString := stringArgs(in.Format)
	for n := range in.Args {
		x := l.pop()
		a := argSlot{offset: l.slot(8, 8)}
		l.put(8, a.offset, x.v)
		if isString[n] {
			l.text(&a, x)
		}
		slot.Args = append(slot.Args, a)
	}
	l.done(&l.lay.Blocks[which])
}

// text copies the string that x points to.
func (l *lowerer) text(a *argSlot, x item) {
	a.size = int(l.lim.String)
	a.present = l.slot(1, 1)
	a.str = l.slot(ir.CountedHeader+l.lim.String, 8)
	lost, on := l.b.NewBlock("string unreadable", ir.I64), l.b.NewBlock("")
	l.b.Emit(ir.Instr{Op: ir.CopyStr, W: 1, A: x.v, Imm: int64(a.str), Aux: l.lim.String, Fault: lost})
	l.put(1, a.present, l.b.Const(1))
	l.b.Jump(on)
	l.b.Start(lost)
	l.b.Jump(on)
	l.b.Start(on)
}

// memoryRange collects memory as an M action says.
func (l *lowerer) memoryRange(a *Action) {
	x := l.constant(a.Offset)
	if a.Base >= 0 {
		x = l.readReg(a.Base)
		x.v = l.b.Bin(ir.Add, 8, x.v, l.b.Const(a.Offset))
		x.off += a.Offset
	}
	if a.Len > l.lim.Record {
		l.refuse("%d bytes of memory; a record holds %d", a.Len, l.lim.Record)
	}
	l.collect(x, a.Len)
}

func (l *lowerer) static() {
	if l.opt.Static == nil {
		l.refuse("there is no static tracepoint here whose data could be collected")
	}
	at := l.slot(ir.CountedHeader+l.opt.StaticSize, 8)
	l.opt.Static(l.b, int64(at))
	l.block(BlockSlot{Kind: StaticBlock, Offset: at, Size: int(l.opt.StaticSize), Counted: true})
}
