package session

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// insert installs sites. One at an address that a patch in place covers is made
// together with what is there.
func (r *Run) insert(fresh []*site) error {
	for _, x := range fresh {
		if p := r.s.placedAt(x.addr); p != nil {
			old, err := r.takeOut(p)
			if err != nil {
				return err
			}
			fresh = append(fresh, old...)
		}
	}
	// Those at one address collect in the order of their numbers.
	slices.SortStableFunc(fresh, func(a, b *site) int { return a.tp.Number - b.tp.Number })
	return r.s.install(fresh)
}

// takeOut gives the program its own bytes back at a patch and returns its sites.
// Threads that are in its trampoline leave it by themselves; its code stays.
func (r *Run) takeOut(p *placed) ([]*site, error) {
	s := r.s
	if err := s.stopped(func(st *process.Stopped) error { return putBack(st, []*placed{p}) }); err != nil {
		return nil, err
	}
	if p.plan.Tactic == patch.Trapping {
		s.tables.forget(p.plan.Addr)
	}
	s.placedMu.Lock()
	s.old = append(s.old, p)
	s.placed = slices.DeleteFunc(slices.Clone(s.placed), func(q *placed) bool { return q == p })
	s.placedMu.Unlock()
	for _, x := range p.sites {
		x.tp.sites--
	}
	return p.sites, nil
}

// Enable arms or disarms a program while the process runs.
func (r *Run) Enable(x *Program, on bool) error {
	if x.tp == nil || x.tp.Disabled == !on {
		return nil
	}
	s := r.s
	if r.gone.Load() {
		return errReplaced
	}
	if !on {
		x.tp.Disabled = true
		for _, p := range s.placed {
			if i := slices.IndexFunc(p.sites, func(y *site) bool { return y.tp == x.tp }); i >= 0 {
				return r.without(p, x.tp)
			}
		}
		return nil
	}
	x.tp.Disabled = false
	sites, err := s.sitesOf(x.tp)
	if err == nil {
		err = x.tp.pending
	}
	if err == nil {
		err = r.insert(sites)
	}
	if err == nil && x.tp.sites == 0 {
		err = r.whyNot(x)
	}
	if err != nil {
		x.tp.Disabled = true
		return plain(err)
	}
	return nil
}

// without takes a tracepoint's sites out of a patch; the others stay.
func (r *Run) without(p *placed, tp *tracked) error {
	list, err := r.takeOut(p)
	if err != nil {
		return err
	}
	r.s.retired = append(r.s.retired, slices.DeleteFunc(slices.Clone(list), func(y *site) bool { return y.tp != tp })...)
	return r.insert(slices.DeleteFunc(slices.Clone(list), func(y *site) bool { return y.tp == tp }))
}

// Displaced is where the copy of the instruction at addr is, behind the hit programs
// of its sites: a thread that is set there has passed them. ok is false where no
// jump or int3 of the run is.
func (r *Run) Displaced(addr uint64) (pc uint64, ok bool) {
	r.s.placedMu.Lock()
	defer r.s.placedMu.Unlock()
	for _, p := range r.s.placed {
		for _, pair := range p.pcs {
			if pair.Orig == addr {
				return pair.Copy, true
			}
		}
	}
	return 0, false
}

// Uncover makes sure that the bytes at addr may be changed by a breakpoint of the
// owner: a patch that goes over it is made again as one byte.
func (r *Run) Uncover(addr uint64) error {
	p := r.s.placedAt(addr)
	if r.gone.Load() || p == nil || p.plan.Tactic == patch.Trapping || addr == p.plan.Addr && p.plan.Tactic == patch.Jump {
		return nil
	}
	list, err := r.takeOut(p)
	if err != nil {
		return err
	}
	return r.insert(list)
}

// Rewrite has write change n bytes of the program at addr. Patches that they belong
// to are taken out before and made anew from the new bytes.
func (r *Run) Rewrite(addr uint64, n int, write func() error) error {
	if r.gone.Load() {
		return write()
	}
	var again []*site
	for _, p := range slices.Clone(r.s.placed) {
		if addr >= p.heldEnd() || addr+uint64(n) <= p.plan.Addr {
			continue
		}
		list, err := r.takeOut(p)
		if err != nil {
			return err
		}
		again = append(again, list...)
	}
	err := write()
	if len(again) > 0 {
		err = errors.Join(err, r.insert(again))
	}
	return err
}
