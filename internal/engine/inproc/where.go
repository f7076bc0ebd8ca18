package session

// Standing says what a pc in generated code means for somebody who looks at the
// program: see process.Code.
type Standing struct {
	In       bool   // it is in generated code
	Boundary bool   // no instruction of the program is half done there, and no hit program
	Orig     uint64 // Boundary: the address in the program that it stands for
	Back     bool   // Boundary: a jump back to Orig lies there, not a copy
	// Stops are the boundaries that a thread within a hit program comes to.
	Stops []uint64
}

// Where tells about a pc. It may be called on the tracer's goroutine.
func (r *Run) Where(pc uint64) Standing {
	s := r.s
	tab := s.tables.get()
	if r.gone.Load() || !tab.inCode(pc) {
		return Standing{}
	}
	s.placedMu.Lock()
	defer s.placedMu.Unlock()
	for _, list := range [][]*placed{s.placed, s.old} {
		for _, p := range list {
			if st, ok := p.standing(pc); ok {
				return st
			}
		}
	}
	return Standing{In: true}
}

// standing is Where for the code of one patch.
func (p *placed) standing(pc uint64) (Standing, bool) {
	if p.stub != 0 && pc == p.stub {
		return Standing{In: true, Boundary: true, Orig: p.plan.Addr}, true
	}
	if pc >= p.at && pc < p.at+uint64(len(p.code)) {
		return p.inside(pc), true
	}
	for i, c := range p.cold {
		if pc >= c.at && pc < c.at+uint64(len(c.code)) {
			return Standing{In: true, Stops: []uint64{p.copyOf(p.coldSite(i).addr)}}, true
		}
	}
	return Standing{}, false
}

// inside is standing for a pc in the trampoline itself.
func (p *placed) inside(pc uint64) Standing {
	for _, pair := range p.pcs {
		switch {
		case pc == pair.Entry || pc == pair.Copy:
			return Standing{In: true, Boundary: true, Orig: pair.Orig}
		case pc > pair.Entry && pc < pair.Copy:
			return Standing{In: true, Stops: []uint64{pair.Copy}}
		case pc > pair.Copy && pc < pair.End:
			return Standing{In: true} // within an instruction's copy: it is finished by single steps
		}
	}
	if last := p.pcs[len(p.pcs)-1]; pc == last.End && p.returns() {
		return Standing{In: true, Boundary: true, Orig: p.end(), Back: true}
	}
	return Standing{In: true}
}

// returns reports whether the trampoline ends with the jump back behind the
// displaced instructions.
func (p *placed) returns() bool {
	return !p.plan.Insts[len(p.pcs)-1].Class.Leaves()
}

// copyOf is where the copy of the instruction at addr is.
func (p *placed) copyOf(addr uint64) uint64 {
	for _, pair := range p.pcs {
		if pair.Orig == addr {
			return pair.Copy
		}
	}
	return p.pcs[0].Copy
}

// coldSite is the site that cold part i belongs to.
func (p *placed) coldSite(i int) *site { return p.cold[i].site }
