package inproc

import "github.com/jalon-trace/jalon/internal/process"

// where describes a pc in generated code for a tracer that inspects the program.
func (l *patches) where(pc uint64) process.Code {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range [][]*placed{l.in, l.out} {
		for _, p := range list {
			if st, ok := p.codeAt(pc); ok {
				return st
			}
		}
	}
	return process.Code{In: true}
}

// codeAt is where, for the code of one patch.
func (p *placed) codeAt(pc uint64) (process.Code, bool) {
	if p.stub != 0 && pc == p.stub {
		return process.Code{In: true, Boundary: true, Orig: p.plan.Addr}, true
	}
	if pc >= p.at && pc < p.at+p.size {
		return p.inside(pc), true
	}
	for i, c := range p.cold {
		if pc >= c.at && pc < c.at+c.size {
			return process.Code{In: true, Stops: []uint64{p.copyOf(p.coldSite(i).addr)}}, true
		}
	}
	return process.Code{}, false
}

// inside is codeAt for a pc in the trampoline itself.
func (p *placed) inside(pc uint64) process.Code {
	for _, pair := range p.pcs {
		switch {
		case pc == pair.Entry || pc == pair.Copy:
			return process.Code{In: true, Boundary: true, Orig: pair.Orig}
		case pc > pair.Entry && pc < pair.Copy:
			return process.Code{In: true, Stops: []uint64{pair.Copy}}
		case pc > pair.Copy && pc < pair.End:
			return process.Code{In: true} // inside the copy of an instruction, which is completed by single steps
		}
	}
	if to, ok := p.plan.Back(p.pcs); ok && pc == p.pcs[len(p.pcs)-1].End {
		return process.Code{In: true, Boundary: true, Orig: to, Back: true}
	}
	return process.Code{In: true}
}

// coldSite returns the site of cold part i.
func (p *placed) coldSite(i int) *site { return p.cold[i].site }
