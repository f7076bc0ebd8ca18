package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
)

// gen makes the code of one program with one allocation of registers. Its parts use only
// those before them:
//
//	planner               what is known before code is made
//	emitter               instructions; the stack
//	stubs                 code out of line
//	operands              where values are
//	memory, surroundings  reads of memory, of the context and of the environment
//	integers, variables, comparisons, copies, mapped, branches   families of operations
//
// The operations of records and counters are gen's own.
type gen struct {
	*planner
	*emitter
	*stubs
	*operands
	*memory
	*surroundings
	*integers
	*variables
	*comparisons
	*copies
	*mapped
	*branches
}

func newGen(pl *planner, behind map[*ir.Instr]valueSet, second bool) *gen {
	em, st := &emitter{code: &code{}, keyWords: pl.an.keyWords}, &stubs{}
	od := &operands{planner: pl, emitter: em, second: second}
	me, su, cm := &memory{pl, em, st, od, behind}, &surroundings{pl, em, st, od}, &comparisons{pl, em, st, od}
	return &gen{
		planner: pl, emitter: em, stubs: st, operands: od, memory: me, surroundings: su, comparisons: cm,
		integers: &integers{pl, em, st, od}, variables: &variables{pl, em, st, od}, copies: &copies{pl, em, st, od, me, su}, mapped: &mapped{planner: pl, emitter: em, stubs: st, operands: od, memory: me},
		branches: &branches{pl, em, st, od, cm},
	}
}

func (g *gen) run() {
	g.stack = 8 * g.al.slots
	for range g.p.Blocks {
		g.blocks = append(g.blocks, g.newLabel())
	}
	g.chooseOrder()
	g.prologue()
	for n, id := range g.order {
		next := ir.NoBlock
		if n+1 < len(g.order) && g.place[g.order[n+1]] == g.place[id] {
			next = g.order[n+1]
		}
		g.block(id, next)
	}
	g.cur = cold
	g.rest()
	g.cur = functions
	for _, f := range g.searches {
		f.body()
		g.rest()
	}
}

func (g *gen) prologue() {
	if at := g.c.Layout.Switch; at != 0 {
		g.turnedOff(at)
	}
	switch at := g.al.loc[g.an.context()]; at.kind {
	case locReg:
		g.mov(at.r, asm.R1)
	case locSpill:
		g.emit(asm.StoreMem(asm.R10, slotOffset(at.slot), asm.R1, asm.DWord))
	}
	if g.an.slotResult {
		g.storeImm(asm.R10, g.area(areaResult), 8, int64(g.c.Return))
	}
}

// turnedOff leaves, before anything else, if the site's switch is not 0.
func (g *gen) turnedOff(at uint64) {
	off := g.newLabel()
	g.mapPointer(asm.R0, at)
	g.emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.Byte))
	g.jumpIfImm(asm.JNE, 8, asm.R0, 0, off)
	g.rare(func() {
		g.bind(off)
		g.movImm(asm.R0, int64(g.c.Return))
		g.emit(asm.Return())
	})
}

func (g *gen) block(id, next ir.BlockID) {
	b := g.p.Blocks[id]
	g.cur, g.id, g.result = g.place[id], id, ir.None
	g.bind(g.blocks[id])
	g.note = b.Note
	for k := 0; k <= len(b.Instrs); k++ {
		g.pos = g.l.At(id, k)
		if id == g.an.zeroBlock && k == g.an.zeroIndex {
			g.makeZero()
		}
		if k == len(b.Instrs) {
			break
		}
		if in := &b.Instrs[k]; g.an.emitted(in) {
			if g.note == "" {
				g.note = g.p.InstrString(in)
			}
			lower[in.Op](g, in)
		}
	}
	g.term(&b.Term, next)
}

// lower is the table of operations; each family registers its own.
var lower [ir.NumOps]func(*gen, *ir.Instr)

// makeZero makes a pointer to address 0, from which, plus any number, the
// program may load: faults give 0.
func (g *gen) makeZero() {
	g.movImm(asm.R1, 0)
	g.movImm(asm.R2, 0)
	g.emit(asm.Instruction{
		OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call),
		Src:    asm.PseudoKfuncCall, Constant: int64(g.c.Features.RdonlyCast),
	})
	g.store(g.an.zero(), asm.R0)
}
