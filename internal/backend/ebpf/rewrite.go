package ebpf

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
)

// timeOnce returns a program that reads the time once if p reads it at several places that can be on one
// path: the time is constant during a hit. (So are the other words of the environment.) It is read at the
// start of the last block that dominates all of them.
func timeOnce(an *analysis) *ir.Program {
	var times []*ir.Instr
	at := ir.NoBlock
	dom := an.dominators()
	for id, b := range an.p.Blocks {
		for k := range b.Instrs {
			in := &b.Instrs[k]
			if an.reach[id] && in.Op == ir.Env && in.Imm == ir.EnvTime && an.emitted(in) {
				times = append(times, in)
				at = meet(dom, at, ir.BlockID(id))
			}
		}
	}
	if len(times) < 2 {
		return an.p
	}
	same := map[ir.Value]ir.Value{}
	for _, in := range times {
		same[in.Dst] = times[0].Dst
	}
	q := renamed(an.p, same)
	b := q.Blocks[at]
	b.Instrs = append([]ir.Instr{*times[0]}, b.Instrs...)
	return q
}

// renamed copies p without the definitions of the values in same, and replaces these values.
func renamed(p *ir.Program, same map[ir.Value]ir.Value) *ir.Program {
	q := &ir.Program{Name: p.Name, Maps: p.Maps, Classes: p.Classes}
	for _, b := range p.Blocks {
		c := b.Clone()
		c.Instrs = slices.DeleteFunc(c.Instrs, func(in ir.Instr) bool {
			_, gone := same[in.Dst]
			return gone && in.Dst != ir.None
		})
		c.Uses(func(v *ir.Value) {
			if w, ok := same[*v]; ok {
				*v = w
			}
		})
		q.Blocks = append(q.Blocks, c)
	}
	return q
}
