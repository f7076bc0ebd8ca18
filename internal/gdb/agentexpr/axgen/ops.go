package axgen

import (
	"math/rand"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
)

// step makes one operation, with what it needs on the stack.
func (g *gen) step() {
	if g.depth > agentexpr.MaxDepth-8 {
		g.emit(agentexpr.OpPop, 0)
	}
	type choice struct {
		weight int
		f      func()
	}
	choices := []choice{
		{6, g.source},
		{10, g.binary},
		{3, g.division},
		{5, g.unary},
		{6, g.ref},
		{5, g.shuffle},
		{4, func() { g.need(1); g.jump(agentexpr.OpIfGoto) }},
		{2, g.leave},
		{3, func() {
			if n := len(g.labels); n > 0 {
				g.place(g.r.Intn(n))
			}
		}},
		{2, g.variable},
	}
	if g.use == agentexpr.ForAction {
		choices = append(choices, choice{8, g.collect}, choice{2, g.chain}, choice{1, g.printf})
	}
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := g.r.Intn(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			c.f()
			return
		}
	}
}

// need makes the stack at least n deep.
func (g *gen) need(n int) {
	for g.depth < n {
		g.source()
	}
}

// constant pushes k, in a form that holds it; now and then by sign extension, as
// GDB makes negative numbers.
func (g *gen) constant(k uint64) {
	for bits, op := 8, agentexpr.OpConst8; bits < 64; bits, op = bits*2, op+1 {
		if k < 1<<bits {
			g.emit(op, k)
			return
		}
		if int64(k) < 0 && int64(k) >= -1<<(bits-1) && g.r.Intn(4) != 0 {
			g.emit(op, k&(1<<bits-1))
			g.emit(agentexpr.OpExt, uint64(bits))
			return
		}
	}
	g.emit(agentexpr.OpConst64, k)
}

// number is a number of the kind that finds mistakes.
func number(r *rand.Rand) uint64 {
	switch r.Intn(5) {
	case 0:
		return r.Uint64()
	case 1:
		return uint64(1)<<r.Intn(64) - uint64(r.Intn(3))
	case 2:
		return -uint64(r.Intn(130))
	}
	return uint64(r.Intn(70))
}

func (g *gen) source() {
	if g.r.Intn(3) == 0 {
		g.constant(number(g.r))
		return
	}
	n := g.r.Intn(16)
	if !g.opt.Kernel && g.r.Intn(8) == 0 {
		n = []int{16, 17, 18, 19, 57, 58}[g.r.Intn(6)]
	}
	g.emit(agentexpr.OpReg, uint64(n))
}

var binaries = []agentexpr.Op{
	agentexpr.OpAdd, agentexpr.OpSub, agentexpr.OpMul, agentexpr.OpLsh, agentexpr.OpRshSigned, agentexpr.OpRshUnsigned,
	agentexpr.OpBitAnd, agentexpr.OpBitOr, agentexpr.OpBitXor, agentexpr.OpEqual, agentexpr.OpLessSigned, agentexpr.OpLessUnsigned,
}

func (g *gen) binary() {
	g.need(2)
	g.emit(binaries[g.r.Intn(len(binaries))], 0)
}

func (g *gen) division() {
	g.need(1)
	if g.r.Intn(3) != 0 {
		g.constant(number(g.r))
	}
	g.need(2)
	g.emit(agentexpr.OpDivSigned+agentexpr.Op(g.r.Intn(4)), 0)
}

func (g *gen) unary() {
	g.need(1)
	bits := uint64(1 + g.r.Intn(64))
	if g.r.Intn(2) == 0 {
		bits = 8 << g.r.Intn(4)
	}
	switch g.r.Intn(5) {
	case 0:
		g.emit(agentexpr.OpLogNot, 0)
	case 1:
		g.emit(agentexpr.OpBitNot, 0)
	case 2:
		g.emit(agentexpr.OpZeroExt, bits)
	default:
		g.emit(agentexpr.OpExt, bits)
	}
}

func (g *gen) shuffle() {
	switch g.r.Intn(5) {
	case 0:
		g.need(1)
		g.emit(agentexpr.OpDup, 0)
	case 1:
		g.need(1)
		g.emit(agentexpr.OpPop, 0)
	case 2:
		g.need(2)
		g.emit(agentexpr.OpSwap, 0)
	case 3:
		g.need(3)
		g.emit(agentexpr.OpRot, 0)
	default:
		g.need(1)
		g.emit(agentexpr.OpPick, uint64(g.r.Intn(min(g.depth, 10))))
	}
}

// address is one of irgen's data pages, of those that cannot be read, and of the
// edges between, or a small number.
func (g *gen) address() uint64 {
	const page = irgen.PageSize
	switch g.r.Intn(6) {
	case 0:
		return uint64(g.r.Intn(64))
	case 1:
		return irgen.DefaultBase + page*uint64(1+g.r.Intn(4)) - uint64(g.r.Intn(40))
	case 2:
		return irgen.DefaultBase + 4*page + uint64(g.r.Intn(page))
	}
	return irgen.DefaultBase + page + uint64(g.r.Intn(2*page-64))
}

// pointer pushes an address. It never lies below rsp: code under test may write
// there. Computed addresses are masked, so that they lie in pages 0 to 3.
func (g *gen) pointer() {
	switch g.r.Intn(4) {
	case 0:
		g.emit(agentexpr.OpReg, rsp)
		g.constant(uint64(g.r.Intn(1500)))
		g.emit(agentexpr.OpAdd, 0)
	case 1:
		g.need(1)
		g.emit(agentexpr.OpDup, 0)
		g.constant(4*irgen.PageSize - 1)
		g.emit(agentexpr.OpBitAnd, 0)
		g.constant(irgen.DefaultBase)
		g.emit(agentexpr.OpAdd, 0)
	default:
		g.constant(g.address())
	}
}

func (g *gen) ref() {
	g.pointer()
	g.emit(agentexpr.OpRef8+agentexpr.Op(g.r.Intn(4)), 0)
}

func (g *gen) variable() {
	n := uint64(1 + g.r.Intn(Vars))
	switch g.r.Intn(4) {
	case 0:
		g.need(1)
		g.emit(agentexpr.OpSetv, n)
	case 1: // as "$n += constant", which is lowered in a way of its own, or nearly so
		switch g.r.Intn(4) {
		case 0:
			g.source()
		case 1:
			g.emit(agentexpr.OpGetv, uint64(1+g.r.Intn(Vars)))
		default:
			g.emit(agentexpr.OpGetv, n)
			g.traced(n)
		}
		g.constant(number(g.r))
		g.emit([]agentexpr.Op{agentexpr.OpAdd, agentexpr.OpSub}[g.r.Intn(2)], 0)
		g.emit(agentexpr.OpExt, 64)
		g.emit(agentexpr.OpSetv, n)
		g.traced(n)
		if g.r.Intn(4) != 0 {
			g.emit(agentexpr.OpPop, 0)
		}
	default:
		g.emit(agentexpr.OpGetv, n)
		g.traced(n)
	}
}

func (g *gen) traced(n uint64) {
	if g.use == agentexpr.ForAction && g.r.Intn(2) == 0 {
		g.emit(agentexpr.OpTracev, n)
	}
}

func (g *gen) size(most int) uint64 {
	if g.r.Intn(2) == 0 {
		return 1 << g.r.Intn(4)
	}
	return uint64(g.r.Intn(most))
}

func (g *gen) collect() {
	g.need(1) // a size may be made of it
	g.pointer()
	switch g.r.Intn(6) {
	case 0:
		g.emit(agentexpr.OpTrace16, g.size(300))
	case 1:
		g.constant(g.size(300))
		g.emit(agentexpr.OpTrace, 0)
	case 2: // a size that is known at the hit only
		g.emit(agentexpr.OpPick, 1)
		g.constant(63)
		g.emit(agentexpr.OpBitAnd, 0)
		g.emit(agentexpr.OpTrace, 0)
	case 3:
		g.emit(agentexpr.OpConst8, uint64(g.r.Intn(60)))
		g.emit(agentexpr.OpTracenz, 0)
	default:
		g.emit(agentexpr.OpTraceQuick, g.size(40))
		if g.r.Intn(2) == 0 {
			g.emit(agentexpr.OpRef8+agentexpr.Op(g.r.Intn(4)), 0)
		}
	}
}

// chain collects a word and counts the address of an empty block from it, as GDB does
// for a->b, where b is collected. A jump may lead in between. (What the word points to
// is not read: it may be anything.)
func (g *gen) chain() {
	base, k := g.r.Intn(2) == 0, uint64(g.r.Intn(1500))
	if !base {
		k = g.address()
	}
	address := func() {
		g.constant(k)
		if base {
			g.emit(agentexpr.OpReg, rsp)
			g.emit(agentexpr.OpAdd, 0)
		}
	}
	address()
	g.emit(agentexpr.OpTraceQuick, 8)
	if g.r.Intn(2) == 0 {
		g.emit(agentexpr.OpPop, 0)
		if n := len(g.labels); n > 0 {
			g.place(g.r.Intn(n))
		}
		address()
	}
	g.emit(agentexpr.OpRef64, 0)
	if g.r.Intn(2) == 0 {
		g.constant(number(g.r))
		g.emit([]agentexpr.Op{agentexpr.OpAdd, agentexpr.OpSub}[g.r.Intn(2)], 0)
	}
	g.emit(agentexpr.OpTraceQuick, 0)
}

var formats = []struct {
	text string
	ptr  []bool
}{
	{"plain", nil},
	{"%d and %lx\\n", []bool{false, false}},
	{"%s", []bool{true}},
	{"%5s%%%c %u\\t%s", []bool{true, false, false, true}},
}

func (g *gen) printf() {
	f := formats[g.r.Intn(len(formats))]
	for n := len(f.ptr) - 1; n >= 0; n-- {
		if f.ptr[n] {
			g.pointer()
		} else {
			g.source()
		}
	}
	g.constant(0)
	g.constant(0)
	g.add(agentexpr.Insn{Op: agentexpr.OpPrintf, Args: len(f.ptr), Format: f.text})
}
