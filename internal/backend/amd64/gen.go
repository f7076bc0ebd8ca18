package amd64

import (
	"maps"
	"sort"

	"github.com/jalon-trace/jalon/internal/backend/regalloc"
	"github.com/jalon-trace/jalon/internal/ir"
)

// gen emits one program. settle repeats the emission until info, the assumption
// about what is destroyed where, agrees with the code. Its parts use only those before them:
//
//	planner                      what is saved where
//	emitter                      instructions, with what they destroy
//	pool                         registers for intermediate results
//	stubs                        code out of line
//	saver                        registers saved and given back
//	operands, vectors            where values are
//	moves                        parameters of blocks
//	comparisons, integers, floats, variables, surroundings, copies, mapped, branches
//	                             families of operations
//
// The operations of records and counters are gen's own.
type gen struct {
	*planner
	*emitter
	*pool
	*stubs
	*operands
	*vectors
	*moves
	*saver
	*comparisons
	*integers
	*variables
	*surroundings
	*floats
	*copies
	*mapped
	*branches
	follow    int                 // rounds of settle that follow the last emission
	checkedAt []map[ir.Value]bool // by block, at its end
}

// assemble puts the parts together.
func assemble(pl *planner) *gen {
	g := &gen{planner: pl, emitter: &emitter{}}
	g.pool = &pool{planner: pl, emitter: g.emitter}
	g.stubs = &stubs{emitter: g.emitter, pool: g.pool}
	g.saver = &saver{pl, g.emitter, g.pool, g.stubs}
	g.operands = &operands{pl, g.emitter, g.pool, g.stubs, g.saver}
	g.vectors = &vectors{pl, g.emitter, g.pool, g.stubs, g.operands}
	g.moves = &moves{pl, g.emitter, g.pool, g.stubs, g.operands, g.vectors}
	g.comparisons = &comparisons{pl, g.emitter, g.pool, g.stubs, g.operands, g.vectors}
	g.integers = &integers{pl, g.emitter, g.pool, g.stubs, g.operands}
	g.variables = &variables{pl, g.emitter, g.pool, g.stubs, g.operands}
	g.surroundings = &surroundings{pl, g.emitter, g.pool, g.stubs, g.operands}
	g.floats = &floats{pl, g.emitter, g.pool, g.stubs, g.operands, g.vectors}
	g.copies = &copies{pl, g.emitter, g.pool, g.stubs, g.operands, g.rec}
	g.mapped = &mapped{pl, g.emitter, g.pool, g.stubs, g.operands, g.copies}
	g.branches = &branches{pl, g.emitter, g.pool, g.stubs, g.saver, g.operands, g.moves, g.comparisons, nil}
	return g
}

func newGen(an *analysis, l *liveness, cfg Config, exclude regSet) *gen {
	g := assemble(&planner{an: an, l: l, cfg: cfg})
	g.deadSet = regSet(cfg.DeadGPR)&allGPR | regSet(cfg.DeadXMM&0xffff)<<itemXMM
	if cfg.DeadFlags {
		g.deadSet.add(itemFlags)
	}
	g.savable = (allGPR | allXMM | setOf(itemFlags)) &^ g.deadSet
	g.savable |= an.regReads & (allGPR | allXMM)
	if an.readFlags {
		g.savable.add(itemFlags)
	}
	g.savable |= setOf(itemMXCSR, itemFrame)
	used := regSet(0)
	if !cfg.DeadFlags {
		used.add(item(RAX))
	}
	g.al = allocate(l, g.deadSet, used, exclude)
	g.info = newInfo(len(an.p.Blocks))
	g.chooseOrder()
	return g
}

// settle finds the fixed point. The assumption first follows the last emission,
// which gives the least saves; should that not end, it only grows, which does.
func (g *gen) settle() bool {
	for round := 0; ; round++ {
		g.makePlan()
		g.emitAll(false)
		if g.pressure {
			return false
		}
		if g.plan.hasTmp == g.usesTmp && g.info.covers(g.act) && (round >= g.follow || g.act.covers(g.info)) {
			return true
		}
		if round < g.follow {
			g.info = g.act
		} else {
			g.info.merge(g.act)
		}
	}
}

func (g *gen) finish(keep bool) (*Code, error) {
	g.emitAll(keep)
	bytes, cold, l, err := g.a.link()
	if err != nil {
		return nil, err
	}
	c := &Code{Bytes: bytes, Cold: cold, cfg: g.cfg, asm: g.a, linked: l, reached: g.reached, based: g.based, guarded: g.guards()}
	c.Faults, c.Edges = g.faultsAt(l, g.a.faults), g.faultsAt(l, g.a.edges)
	if len(c.Edges) > 0 {
		c.Stack = int(g.plan.frame)
		if g.an.readFlags {
			c.Stack += 8 // pushf
		}
	}
	for _, pc := range g.a.clocks {
		c.Clocks = append(c.Clocks, g.cfg.Addr+uint64(l.off(pc)))
	}
	return c, nil
}

// faultsAt gives the addresses of instructions that may fault.
func (g *gen) faultsAt(l *linked, list []faultPoint) (out []Fault) {
	for _, f := range list {
		out = append(out, Fault{g.cfg.Addr + uint64(l.off(f.pc)), g.cfg.Addr + uint64(l.off(g.a.labels[f.fix]))})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].PC < out[j].PC })
	return out
}

func (g *gen) emitAll(keep bool) {
	n := len(g.an.p.Blocks)
	g.act = newInfo(n)
	g.a = &asm{base: g.cfg.Addr, cold: g.cfg.ColdAddr, keep: keep}
	g.blockLab = make([]label, n)
	for b := range g.blockLab {
		g.blockLab[b] = g.a.newLabel()
	}
	g.endLab = g.a.newLabel()
	g.exits = map[regSet]label{}
	g.checkedAt = make([]map[ir.Value]bool, n)
	g.deferred = nil
	for i, b := range g.order {
		next := ir.NoBlock
		if i+1 < len(g.order) && g.place[g.order[i+1]] == g.place[b] {
			next = g.order[i+1]
		}
		g.emitBlock(b, next)
	}
	for len(g.deferred) > 0 {
		d := g.deferred
		g.deferred = nil
		for _, f := range d {
			f()
		}
	}
	for b := range g.blockLab {
		if !g.an.reach[b] {
			g.a.labels[g.blockLab[b]] = point{}
		}
	}
	g.a.sec = secTail
	g.a.bind(g.endLab)
}

// begin starts an instruction at pos.
func (g *gen) begin(pos int32) {
	g.pos, g.edgeTo = pos, ir.NoBlock
	g.busy = g.reserved
}

func (g *gen) emitBlock(b, next ir.BlockID) {
	blk := g.an.p.Blocks[b]
	g.cur, g.a.sec = b, g.place[b]
	g.checked = g.checkedBefore(b)
	g.begin(g.l.Start(b))
	if blk.Note != "" {
		g.a.comment("; " + blk.Note)
	}
	g.a.bind(g.blockLab[b])
	keepRAX := g.reserved.has(item(RAX)) || !g.unoccupied(item(RAX), regalloc.Interval{From: g.pos, To: g.pos})
	g.saveItems(g.plan.out[b]&^g.plan.in[b], g.plan.in[b], keepRAX)
	if b == 0 {
		g.mayLeave()
	}
	for i := range blk.Instrs {
		in := &blk.Instrs[i]
		if g.an.emitted(in) {
			g.begin(g.l.At(b, i))
			g.emitInstr(in)
		}
	}
	g.begin(g.l.End(b))
	g.emitTerm(&blk.Term, next)
	g.checkedAt[b] = g.checked
}

// checkedBefore returns the checks on the only path to b, if there is only one and it leads through the end
// of its block.
func (g *gen) checkedBefore(b ir.BlockID) map[ir.Value]bool {
	known := map[ir.Value]bool{}
	if len(g.an.preds[b]) != 1 {
		return known
	}
	a := g.an.preds[b][0]
	for _, e := range edges(&g.an.p.Blocks[a].Term) {
		if e.To == b {
			maps.Copy(known, g.checkedAt[a])
		}
	}
	return known
}

func (g *gen) emitInstr(in *ir.Instr) {
	if g.a.keep {
		g.a.comment("; " + g.an.p.InstrString(in))
	}
	for _, v := range g.an.inputs(in) {
		g.pin(v)
	}
	if lower[in.Op] == nil {
		panic("BUG: amd64: no lowering for operation")
	}
	lower[in.Op](g, in)
}

// lower is the table of operations; each family registers its own.
var lower [ir.NumOps]func(*gen, *ir.Instr)
