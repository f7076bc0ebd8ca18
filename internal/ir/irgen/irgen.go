package irgen

import (
	"fmt"
	"math/rand"
	"slices"

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
	// StackIDs makes ir.StackID, ir.UserStack and ir.Signal, with Kernel: what cannot be compared in a test run of the kernel.
	StackIDs bool
	// Walks makes ir.Walk and ir.Intern, for which an executor needs tables.
	Walks bool
	// Maps makes the operations on maps, and, in processes, Ticks and EnvSite: an executor needs tables and a clock.
	Maps bool
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
	g := newGen(r, opt)
	if opt.Maps {
		g.p.Maps = slices.Clone(MapsOf[:])
	}
	g.plan()
	for id := range g.p.Blocks {
		g.block(ir.BlockID(id))
	}
	if err := ir.Check(g.p); err != nil {
		panic(fmt.Sprintf("BUG: irgen: %v\n%s", err, g.p))
	}
	return g.p
}

// gen makes one program: its blocks, and what is in them.
type gen struct {
	*builder
	*values
	*records
	*mapped
}

func newGen(r *rand.Rand, opt Options) *gen {
	bd := &builder{r: r, opt: opt, p: &ir.Program{Name: "random"}}
	vs := &values{bd}
	return &gen{bd, vs, &records{bd, vs}, &mapped{bd, vs, nil}}
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
