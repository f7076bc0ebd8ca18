package ebpf

import "github.com/jalon-trace/jalon/internal/ir"

// chooseOrder puts the blocks in the order of the program, those that only rare
// edges lead to in the cold section.
func (pl *planner) chooseOrder() {
	n := len(pl.p.Blocks)
	pl.place = make([]section, n)
	often := make([]bool, n)
	often[0] = true
	var rare []ir.BlockID
	for id, b := range pl.p.Blocks {
		if !pl.an.reach[id] {
			continue
		}
		if !often[id] {
			pl.place[id] = cold
			rare = append(rare, ir.BlockID(id))
			continue
		}
		for _, e := range pl.an.edges(&b.Term) {
			if !(b.Term.Unlikely && e == &b.Term.Then && b.Term.Kind == ir.Branch) {
				often[e.To] = true
			}
		}
		pl.order = append(pl.order, ir.BlockID(id))
	}
	pl.order = append(pl.order, rare...)
}
