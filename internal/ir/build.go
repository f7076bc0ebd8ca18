package ir

// Builder makes a Program. Blocks get their final order from the order in which
// they are started (Start), so a block may be named before its place is known.
type Builder struct {
	p       *Program
	cur     *Block
	order   []*Block
	all     []*Block
	started map[*Block]bool
}

// NewBuilder returns a Builder with the entry block started.
func NewBuilder(name string) *Builder {
	b := &Builder{p: &Program{Name: name}, started: map[*Block]bool{}}
	b.Start(b.NewBlock("entry"))
	return b
}

// Label is a block under construction; it becomes a BlockID when Finish numbers the blocks.
type Label = BlockID

// NewBlock makes a block without a place; params give the classes of its parameters.
func (b *Builder) NewBlock(note string, params ...Class) BlockID {
	blk := &Block{Note: note}
	for _, c := range params {
		blk.Params = append(blk.Params, b.newValue(c))
	}
	b.all = append(b.all, blk)
	return BlockID(len(b.all) - 1)
}

// Param returns parameter i of block id.
func (b *Builder) Param(id BlockID, i int) Value { return b.all[id].Params[i] }

// Start places block id after all blocks placed so far and emits into it.
func (b *Builder) Start(id BlockID) {
	blk := b.all[id]
	if b.started[blk] {
		panic("BUG: ir: block started twice")
	}
	b.started[blk] = true
	b.order = append(b.order, blk)
	b.cur = blk
}

// Terminated reports whether the current block has its terminator (nothing may be emitted).
func (b *Builder) Terminated() bool { return b.cur == nil }

func (b *Builder) newValue(c Class) Value {
	b.p.Classes = append(b.p.Classes, c)
	return Value(len(b.p.Classes) - 1)
}

// Class returns the class of v.
func (b *Builder) Class(v Value) Class { return b.p.Classes[v] }

// Emit appends i. It sets fields that the operation does not have (Dst, A, B, Fault) to None and NoBlock. If an
// operation that can fault must have no fault edge, set NoBlock explicitly.
func (b *Builder) Emit(i Instr) {
	if b.cur == nil {
		panic("BUG: ir: emit after the terminator")
	}
	info := i.Op.Info()
	if info.Result == NoResult {
		i.Dst = None
	}
	if info.A == NoOperand {
		i.A = None
	}
	if info.B == NoOperand {
		i.B = None
	}
	if !info.MayFault {
		i.Fault = NoBlock
	}
	b.cur.Instrs = append(b.cur.Instrs, i)
}

// Def appends i with a fresh result of class c and returns it.
func (b *Builder) Def(c Class, i Instr) Value {
	i.Dst = b.newValue(c)
	b.Emit(i)
	return i.Dst
}

// Const emits an integer constant.
func (b *Builder) Const(v int64) Value {
	return b.Def(I64, Instr{Op: Const, Imm: v, A: None, B: None, Fault: NoBlock})
}

// Map declares a map and returns its number.
func (b *Builder) Map(m Map) int64 {
	b.p.Maps = append(b.p.Maps, m)
	return int64(len(b.p.Maps) - 1)
}

// Reg emits a read of DWARF register n.
func (b *Builder) Reg(n int64) Value {
	return b.Def(I64, Instr{Op: Reg, Imm: n, A: None, B: None, Fault: NoBlock})
}

// Bin emits op on x and y with width w.
func (b *Builder) Bin(op Op, w uint8, x, y Value) Value {
	return b.Def(I64, Instr{Op: op, W: w, A: x, B: y, Fault: NoBlock})
}

// Un emits op on x with width w.
func (b *Builder) Un(op Op, w uint8, x Value) Value {
	return b.Def(I64, Instr{Op: op, W: w, A: x, B: None, Fault: NoBlock})
}

// Load emits an integer load of w bytes at addr+off.
func (b *Builder) Load(w uint8, signed bool, addr Value, off int64, fault BlockID) Value {
	return b.Def(I64, Instr{Op: Load, W: w, Signed: signed, A: addr, B: None, Imm: off, Fault: fault})
}

func (b *Builder) end(t Term) {
	if b.cur == nil {
		panic("BUG: ir: block ended twice")
	}
	b.cur.Term = t
	b.cur = nil
}

// Jump ends the block with a jump.
func (b *Builder) Jump(to BlockID, args ...Value) {
	b.end(Term{Kind: Jump, Cond: None, Then: Edge{To: to, Args: args}, Else: Edge{To: NoBlock}})
}

// Branch ends the block: cond != 0 goes to then, else to els (both without arguments).
func (b *Builder) Branch(cond Value, then, els BlockID) {
	b.BranchTo(cond, Edge{To: then}, Edge{To: els}, false)
}

// BranchTo is Branch with arguments; unlikely marks then as rare.
func (b *Builder) BranchTo(cond Value, then, els Edge, unlikely bool) {
	b.end(Term{Kind: Branch, Cond: cond, Then: then, Else: els, Unlikely: unlikely})
}

// Exit ends the block and the hit.
func (b *Builder) Exit() {
	b.end(Term{Kind: Exit, Cond: None, Then: Edge{To: NoBlock}, Else: Edge{To: NoBlock}})
}

// Finish numbers the blocks in the order they were started and returns the
// program. Blocks that were never started must not be referred to; Check finds it.
func (b *Builder) Finish() *Program {
	num := make([]BlockID, len(b.all))
	at := map[*Block]BlockID{}
	for i, blk := range b.order {
		at[blk] = BlockID(i)
	}
	for i, blk := range b.all {
		num[i] = NoBlock
		if n, ok := at[blk]; ok {
			num[i] = n
		}
	}
	fix := func(id *BlockID) {
		if *id >= 0 {
			*id = num[*id]
		}
	}
	for _, blk := range b.order {
		for i := range blk.Instrs {
			fix(&blk.Instrs[i].Fault)
		}
		fix(&blk.Term.Then.To)
		fix(&blk.Term.Else.To)
	}
	b.p.Blocks = b.order
	return b.p
}
