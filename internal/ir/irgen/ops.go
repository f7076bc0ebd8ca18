package irgen

import (
	"math/rand"

	"github.com/jalon-trace/jalon/internal/ir"
)

// step emits an operation or a few.
func (g *gen) step() {
	type choice struct {
		weight int
		f      func()
	}
	choices := []choice{
		{12, func() { g.apply(integerOps, ir.I64) }},
		{3, func() { g.compare() }},
		{1, func() { g.source() }},
		{4, func() { g.load() }},
		{2, func() { g.streq() }},
		{2, g.again},
		{1, g.count},
		{1, g.variable},
	}
	if g.opt.Kernel {
		choices = append(choices, choice{3, func() { g.ctx() }}, choice{2, func() { g.env() }}, choice{1, g.hand})
	}
	if g.opt.Floats {
		choices = append(choices,
			choice{3, func() { g.apply(floatOps, g.float()) }},
			choice{2, func() { g.floatCompare() }},
			choice{2, func() { g.apply(fromFloats, g.float()) }},
			choice{2, func() { g.toFloat(g.float()) }},
			choice{2, func() { g.fload(g.float()) }})
	}
	if len(g.p.Maps) > 0 {
		choices = append(choices, choice{4, g.onMap})
		if !g.opt.Kernel {
			choices = append(choices, choice{1, g.ticks})
		}
	}
	if g.state == inside {
		choices = append(choices,
			choice{10, g.put},
			choice{2, g.copy}, choice{2, g.copyN}, choice{2, g.copyStr}, choice{2, g.copyMax})
		if g.opt.Floats {
			choices = append(choices, choice{3, g.fput})
		}
		if g.opt.Walks && !g.opt.Kernel {
			choices = append(choices, choice{1, g.walk}, choice{1, g.intern})
		}
		if g.opt.Kernel {
			choices = append(choices, choice{2, g.copyContext}, choice{1, g.copyFrames}, choice{1, g.copyComm})
			if g.opt.StackIDs {
				choices = append(choices, choice{1, g.stackID}, choice{1, g.userStack}, choice{1, g.signal})
			}
		} else {
			choices = append(choices, choice{1, g.putReg}, choice{1, g.putOther}, choice{1, g.putX87})
		}
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

// variable reads or writes a variable of the session.
func (g *gen) variable() {
	n := int64(g.r.Intn(Vars))
	switch g.r.Intn(4) {
	case 0:
		g.emit(ir.Instr{Op: ir.SetVar, Imm: n, A: g.int()})
	case 1:
		g.emit(ir.Instr{Op: ir.AddVar, Imm: n, A: g.int()})
	case 2:
		g.avail = append(g.avail, g.hidden(ir.Instr{Op: ir.FetchAddVar, Imm: n, A: g.int()}))
	default:
		g.avail = append(g.avail, g.hidden(ir.Instr{Op: ir.GetVar, Imm: n}))
	}
}

// again repeats an earlier operation whose operands are still there, so that
// there is something to find for common subexpression elimination.
func (g *gen) again() {
	if len(g.done) == 0 {
		return
	}
	i := g.done[g.r.Intn(len(g.done))]
	if !g.has(i.A) || !g.has(i.B) {
		return
	}
	if i.Fault != ir.NoBlock {
		to, ok := g.faultTarget()
		if !ok {
			return
		}
		i.Fault = to
	}
	g.def(g.p.Classes[i.Dst], i)
}

// literal is a text to compare memory with; state.go fills memory with similar texts.
func literal(r *rand.Rand) string {
	if r.Intn(2) == 0 {
		return "abcabcabcabcabcabc"[r.Intn(3):][:r.Intn(15)]
	}
	return randomText(r)
}
