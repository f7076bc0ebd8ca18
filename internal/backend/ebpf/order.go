package ebpf

import "github.com/jalon-trace/jalon/internal/ir"

// chooseOrder puts the blocks in the order of the program, those that only rare
// edges lead to in the cold section.
func (g *gen) chooseOrder() {
	n := len(g.p.Blocks)
	g.place = make([]section, n)
	often := make([]bool, n)
	often[0] = true
	var rare []ir.BlockID
	for id, b := range g.p.Blocks {
		if !g.an.reach[id] {
			continue
		}
		if !often[id] {
			g.place[id] = cold
			rare = append(rare, ir.BlockID(id))
			continue
		}
		for _, e := range g.an.edges(&b.Term) {
			if !(b.Term.Unlikely && e == &b.Term.Then && b.Term.Kind == ir.Branch) {
				often[e.To] = true
			}
		}
		g.order = append(g.order, ir.BlockID(id))
	}
	g.order = append(g.order, rare...)
}
