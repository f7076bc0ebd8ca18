package ir

// FactsOf gives the facts of each value as {unsigned bits, signed bits}.
func FactsOf(p *Program) [][2]int {
	rw := newRewriter(p)
	rw.run(nil, nil)
	var out [][2]int
	for _, f := range rw.facts {
		out = append(out, [2]int{int(f.u), int(f.s)})
	}
	return out
}
