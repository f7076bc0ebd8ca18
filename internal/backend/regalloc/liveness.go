package regalloc

import "github.com/jalon-trace/jalon/internal/ir"

// Step is the distance between the positions of two instructions. At its position an instruction reads, at
// the next it writes; the backend may use the positions before it for what it emits before the instruction.
const Step = 4

// Interval is the life of a value, both ends included.
type Interval struct {
	From, To int32 // From > To: no register is needed
	// Hint is a value whose register is preferred, or ir.None.
	Hint ir.Value
}

// Needed reports whether the value needs a register.
func (iv Interval) Needed() bool { return iv.From <= iv.To }

// Overlaps reports whether both lives have a position in common.
func (iv Interval) Overlaps(o Interval) bool { return iv.From <= o.To && o.From <= iv.To }

// Backend describes how a program's code is emitted.
type Backend interface {
	// Reached reports whether control can reach a block.
	Reached(b ir.BlockID) bool
	// Used reports whether something reads v.
	Used(v ir.Value) bool
	// Held calls use for the values in registers that v is read from: v itself, nothing for
	// a constant, the operands of an instruction that is computed where v is used.
	Held(v ir.Value, use func(ir.Value))
	// Edges are the edges that a terminator can take, Branch the values that it reads.
	Edges(t *ir.Term) []*ir.Edge
	Branch(t *ir.Term) []ir.Value
	// Passes reports whether a parameter's value is handed over.
	Passes(param ir.Value) bool
	// Instr adds the lives that begin, go on and end at instruction i of block b, for each
	// instruction in order; for the terminator i is their number.
	Instr(l *Liveness, b ir.BlockID, i int)
}

// Liveness has the live intervals of a program's values.
type Liveness struct {
	be    Backend
	p     *ir.Program
	start []int32
	// Lives is by value; the backend's own follow the program's.
	Lives []Interval
}

// Compute walks the program. own is how many values the backend adds.
func Compute(p *ir.Program, be Backend, own int) *Liveness {
	l := &Liveness{be: be, p: p, start: make([]int32, len(p.Blocks)), Lives: make([]Interval, len(p.Classes)+own)}
	for v := range l.Lives {
		l.Lives[v] = Interval{From: 1, To: 0, Hint: ir.None}
	}
	next := int32(Step)
	for b, blk := range p.Blocks {
		l.start[b] = next
		next += Step * int32(len(blk.Instrs)+2)
	}
	for b := range p.Blocks {
		if be.Reached(ir.BlockID(b)) {
			l.block(ir.BlockID(b))
		}
	}
	return l
}

// Start is the position where a block's parameters are defined.
func (l *Liveness) Start(b ir.BlockID) int32 { return l.start[b] }

// At is the position of instruction i of a block; the terminator follows the last.
func (l *Liveness) At(b ir.BlockID, i int) int32 { return l.start[b] + Step*int32(i+1) }

// End is the position of a block's terminator.
func (l *Liveness) End(b ir.BlockID) int32 { return l.At(b, len(l.p.Blocks[b].Instrs)) }

func (l *Liveness) block(b ir.BlockID) {
	blk := l.p.Blocks[b]
	for _, v := range blk.Params {
		if l.be.Used(v) {
			l.Define(v, l.start[b])
		}
	}
	for i := 0; i <= len(blk.Instrs); i++ {
		l.be.Instr(l, b, i)
	}
	end := l.End(b)
	if blk.Term.Kind == ir.Branch {
		for _, v := range l.be.Branch(&blk.Term) {
			l.Use(v, end)
		}
	}
	for _, e := range l.be.Edges(&blk.Term) {
		for k, v := range e.Args {
			if param := l.p.Blocks[e.To].Params[k]; l.be.Passes(param) {
				l.Use(v, end)
				l.Lives[param].Hint = v
			}
		}
	}
}

// Define begins the life of v, unless it has begun.
func (l *Liveness) Define(v ir.Value, pos int32) {
	if iv := &l.Lives[v]; !iv.Needed() {
		iv.From, iv.To = pos, pos
	}
}

// Use extends the lives of what v is read from to pos.
func (l *Liveness) Use(v ir.Value, pos int32) {
	l.be.Held(v, func(v ir.Value) { l.Keep(v, pos) })
}

// Keep extends the life of v itself to pos.
func (l *Liveness) Keep(v ir.Value, pos int32) {
	if iv := &l.Lives[v]; iv.To < pos {
		iv.To = pos
	}
}
