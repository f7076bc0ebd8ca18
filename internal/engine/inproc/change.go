package inproc

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// insert installs sites. One at an address that a patch in place covers is made
// together with what is there.
func (e *Engine) insert(fresh []*site) error {
	for _, x := range fresh {
		if p := e.placedAt(x.addr); p != nil {
			old, err := e.takeOut(p)
			if err != nil {
				return err
			}
			fresh = append(fresh, old...)
		}
	}
	// Those at one address collect in the order of their numbers.
	slices.SortStableFunc(fresh, func(a, b *site) int { return a.Number - b.Number })
	return e.install(fresh, nil)
}

// takeOut gives the program its own bytes back at a patch and returns its sites.
// Threads that are in its trampoline leave it by themselves; its code stays.
func (e *Engine) takeOut(p *placed) ([]*site, error) {
	if err := e.stopped(func(st *process.Stopped) error { return putBack(st, []*placed{p}) }); err != nil {
		return nil, err
	}
	if p.plan.Tactic == patch.Trapping {
		e.tables.forget(p.plan.Addr)
	}
	e.placedMu.Lock()
	e.old = append(e.old, p)
	e.placed = slices.DeleteFunc(slices.Clone(e.placed), func(q *placed) bool { return q == p })
	e.placedMu.Unlock()
	return p.sites, nil
}

// Displaced is where the copy of the instruction at addr is, behind the hit programs
// of its sites: a thread that is set there has passed them. ok is false where no
// jump or int3 of the engine is.
func (e *Engine) Displaced(addr uint64) (pc uint64, ok bool) {
	e.placedMu.Lock()
	defer e.placedMu.Unlock()
	for _, p := range e.placed {
		for _, pair := range p.pcs {
			if pair.Orig == addr {
				return pair.Copy, true
			}
		}
	}
	return 0, false
}

// Uncover makes sure that the bytes at addr may be changed by a breakpoint of the
// caller: a patch that goes over it is made again as one byte.
func (e *Engine) Uncover(addr uint64) error {
	p := e.placedAt(addr)
	if e.Replaced() || p == nil || p.plan.Tactic == patch.Trapping || addr == p.plan.Addr && p.plan.Tactic == patch.Jump {
		return nil
	}
	list, err := e.takeOut(p)
	if err != nil {
		return err
	}
	return e.putIn(list)
}

// Rewrite has write change n bytes of the program at addr. Patches that they belong
// to are taken out before and made anew from the new bytes.
func (e *Engine) Rewrite(addr uint64, n int, write func() error) error {
	if e.Replaced() {
		return write()
	}
	var again []*site
	for _, p := range slices.Clone(e.placed) {
		if addr >= p.heldEnd() || addr+uint64(n) <= p.plan.Addr {
			continue
		}
		list, err := e.takeOut(p)
		if err != nil {
			return err
		}
		again = append(again, list...)
	}
	err := write()
	if len(again) > 0 {
		err = errors.Join(err, e.putIn(again))
	}
	return err
}

// Original puts the program's own bytes into b, which was read at addr.
func (e *Engine) Original(addr uint64, b []byte) {
	if e.Replaced() {
		return
	}
	e.placedMu.Lock()
	defer e.placedMu.Unlock()
	e.unpatched(addr, b)
}
