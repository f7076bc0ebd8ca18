package irgen

import (
	"fmt"
	"math/rand"

	"github.com/jalon-trace/jalon/internal/ir"
)

// Options narrow what Random makes. The zero value allows integers only.
type Options struct {
	// Base is the address of the memory; 0 means DefaultBase.
	Base uint64
	// Floats allows the F64 and F32 classes.
	Floats bool
	// SegBase allows reads of fs_base and gs_base, and of the segments' selectors.
	SegBase bool
	// NoRIP forbids reads of rip, NoFlags those of the flags.
	NoRIP, NoFlags bool
	// Kernel makes the operations of the kernel engine, too, and neither floats
	// nor xmm registers nor segment bases whatever the other options say. A program
	// computes with all words of the environment but EnvContext, EnvTask and
	// EnvTime as they are; it copies from the first, and of the others uses bits
	// that do not depend on the moment, and follows none of them.
	Kernel bool
	// NoRegs reads the registers out of the context block instead (Kernel).
	NoRegs bool
	// High is the address of HighSize more readable bytes, State.High, whose end
	// is that of the readable memory there; 0: there are none.
	High uint64
	// Blocks and Instrs bound the number of blocks and of instructions in each
	// (about; 0 means 10 and 10).
	Blocks, Instrs int
}

func (o Options) base() uint64 {
	if o.Base == 0 {
		return DefaultBase
	}
	return o.Base
}

// Random makes a checked program: all that it computes is defined for each
// state that RandomState makes, unguarded reads included.
func Random(r *rand.Rand, opt Options) *ir.Program {
	if opt.Blocks == 0 {
		opt.Blocks = 10
	}
	if opt.Instrs == 0 {
		opt.Instrs = 10
	}
	if opt.Kernel {
		opt.Floats, opt.SegBase = false, false
	}
	g := &gen{r: r, opt: opt, p: &ir.Program{Name: "random"}}
	g.plan()
	for id := range g.p.Blocks {
		g.block(ir.BlockID(id))
	}
	if err := ir.Check(g.p); err != nil {
		panic(fmt.Sprintf("BUG: irgen: %v\n%s", err, g.p))
	}
	return g.p
}

// phase is the state of the record. Blocks are laid out by phase, so that every
// edge leads forward; from before the record there is a way past it.
type phase uint8

const (
	before phase = iota
	inside
	after
)

type gen struct {
	r      *rand.Rand
	opt    Options
	p      *ir.Program
	phases []phase      // by block, at its start
	in     [][]ir.Value // by block: defined on every edge seen so far; nil: none seen
	room   int64        // every Reserve has at least this

	// At the present point:
	id    ir.BlockID
	state phase
	avail []ir.Value
	done  []ir.Instr // all instructions with a result so far, to repeat some
}

// plan decides on the blocks: how many of each phase and their parameters.
func (g *gen) plan() {
	n := 1 + g.r.Intn(g.opt.Blocks)
	nb := 1 + g.r.Intn(n)
	ni := 0
	if g.r.Intn(8) != 0 {
		ni = g.r.Intn(n + 1)
	}
	na := 1 + g.r.Intn(1+n/2)
	for i, count := range []int{nb, ni, na} {
		for range count {
			g.phases = append(g.phases, phase(i))
		}
	}
	for id := range g.phases {
		b := &ir.Block{Term: ir.Term{Cond: ir.None}}
		for _, c := range g.params(id) {
			b.Params = append(b.Params, g.newValue(c))
		}
		g.p.Blocks = append(g.p.Blocks, b)
	}
	g.in = make([][]ir.Value, len(g.phases))
	g.in[0] = []ir.Value{}
	g.room = ir.RecordHeader + 8*int64(g.r.Intn(24))
	if g.r.Intn(16) == 0 {
		g.room += 8 * int64(g.r.Intn(600))
	}
}

// params gives the parameters of a block; every second can take a fault.
func (g *gen) params(id int) []ir.Class {
	switch {
	case id == 0:
		return nil
	case g.r.Intn(2) == 0:
		return []ir.Class{ir.I64}
	}
	var cs []ir.Class
	for range g.r.Intn(4) {
		cs = append(cs, g.class())
	}
	return cs
}

func (g *gen) class() ir.Class {
	if g.opt.Floats && g.r.Intn(3) == 0 {
		return g.float()
	}
	return ir.I64
}

func (g *gen) float() ir.Class { return []ir.Class{ir.F64, ir.F32}[g.r.Intn(2)] }

func (g *gen) newValue(c ir.Class) ir.Value {
	g.p.Classes = append(g.p.Classes, c)
	return ir.Value(len(g.p.Classes) - 1)
}

// block fills block id. Every block is reached: when nothing leads to the next
// one yet, this one must.
func (g *gen) block(id ir.BlockID) {
	g.id, g.state = id, g.phases[id]
	g.avail = append(append([]ir.Value(nil), g.in[id]...), g.p.Blocks[id].Params...)
	mustReach := int(id)+1 < len(g.phases) && g.in[id+1] == nil
	leaveIn := g.exitState(mustReach)
	n := 1 + g.r.Intn(g.opt.Instrs)
	for k := range n {
		g.step()
		for g.state != leaveIn && (k == n-1 || g.r.Intn(n) == 0) {
			g.advance()
		}
	}
	g.term(mustReach)
}

// exitState is the required state of the record at the end of the block.
func (g *gen) exitState(mustReach bool) phase {
	if mustReach {
		next := g.phases[g.id+1]
		if g.state == before && next == after && g.r.Intn(3) == 0 {
			return before // past the record; "after" makes all of it here
		}
		return next
	}
	s := g.state
	if s == before && len(g.targets(inside)) > 0 && g.r.Intn(2) == 0 {
		s = inside
	}
	if s == inside && (g.r.Intn(3) == 0 || len(g.targets(inside)) == 0) {
		s = after
	}
	return s
}

// advance reserves or commits.
func (g *gen) advance() {
	if g.state == before {
		g.emit(ir.Instr{Op: ir.Reserve, Imm: g.room + 8*int64(g.r.Intn(3))})
		g.state = inside
		return
	}
	g.emit(ir.Instr{Op: ir.Commit})
	g.state = after
}

// targets are the blocks that an edge from here may lead to in state s.
func (g *gen) targets(s phase) []ir.BlockID {
	var ids []ir.BlockID
	for id := int(g.id) + 1; id < len(g.phases); id++ {
		if g.phases[id] == s || s == before && g.phases[id] == after {
			ids = append(ids, ir.BlockID(id))
		}
	}
	return ids
}

// faultTarget is a block that a fault may lead to; false when there is none.
func (g *gen) faultTarget() (ir.BlockID, bool) {
	var ids []ir.BlockID
	for _, id := range g.targets(g.state) {
		if ps := g.p.Blocks[id].Params; len(ps) == 1 && g.p.Classes[ps[0]] == ir.I64 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ir.NoBlock, false
	}
	return ids[g.r.Intn(len(ids))], true
}

// reach records an edge from here.
func (g *gen) reach(to ir.BlockID) {
	if g.in[to] == nil {
		g.in[to] = append([]ir.Value{}, g.avail...)
		return
	}
	have := map[ir.Value]bool{}
	for _, v := range g.avail {
		have[v] = true
	}
	kept := g.in[to][:0]
	for _, v := range g.in[to] {
		if have[v] {
			kept = append(kept, v)
		}
	}
	g.in[to] = kept
}

func (g *gen) term(mustReach bool) {
	t := &g.p.Blocks[g.id].Term
	ids := g.targets(g.state)
	if len(ids) == 0 || !mustReach && g.state != inside && g.r.Intn(8) == 0 {
		t.Kind = ir.Exit
		return
	}
	if g.state == before && g.phases[ids[0]] == before && g.r.Intn(2) == 0 {
		for g.phases[ids[len(ids)-1]] == after { // not past the record yet
			ids = ids[:len(ids)-1]
		}
	}
	then, els := ids[g.r.Intn(len(ids))], ids[g.r.Intn(len(ids))]
	if mustReach && then != g.id+1 && els != g.id+1 {
		if g.r.Intn(2) == 0 {
			then = g.id + 1
		} else {
			els = g.id + 1
		}
	}
	if then == els && g.r.Intn(4) != 0 {
		t.Kind = ir.Jump
		t.Then = g.edge(then)
		return
	}
	t.Kind = ir.Branch
	t.Cond = g.cond()
	t.Then, t.Else = g.edge(then), g.edge(els)
	t.Unlikely = g.r.Intn(4) == 0
}

// cond is mostly a fresh comparison, as a compiler of conditions makes them.
func (g *gen) cond() ir.Value {
	switch g.r.Intn(8) {
	case 0:
		return g.int()
	case 1:
		return g.constant(int64(g.r.Intn(2)))
	case 2:
		if g.opt.Floats {
			return g.floatCompare()
		}
	}
	return g.compare()
}

func (g *gen) edge(to ir.BlockID) ir.Edge {
	e := ir.Edge{To: to}
	for _, v := range g.p.Blocks[to].Params {
		e.Args = append(e.Args, g.value(g.p.Classes[v]))
	}
	g.reach(to)
	return e
}

// emit appends an instruction without a result. Fields that are zero and
// have no use become None.
func (g *gen) emit(i ir.Instr) {
	info := i.Op.Info()
	if info.A == ir.NoOperand {
		i.A = ir.None
	}
	if info.B == ir.NoOperand {
		i.B = ir.None
	}
	if info.Result == ir.NoResult {
		i.Dst = ir.None
	}
	if !info.MayFault {
		i.Fault = ir.NoBlock
	}
	if i.Fault != ir.NoBlock {
		g.reach(i.Fault)
	}
	b := g.p.Blocks[g.id]
	b.Instrs = append(b.Instrs, i)
}

// def appends an instruction with a result.
func (g *gen) def(c ir.Class, i ir.Instr) ir.Value {
	i.Dst = g.newValue(c)
	g.emit(i)
	b := g.p.Blocks[g.id]
	g.done = append(g.done, b.Instrs[len(b.Instrs)-1])
	g.avail = append(g.avail, i.Dst)
	return i.Dst
}
