package inproc

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// Load implements engine.Engine: it chooses how each site is reached. The process runs
// and is not changed, but for the programs that Options.Uprobes takes.
//
// With Options.Join nothing is chosen before Arm: a program at an address where others
// are is put in together with them.
func (e *Engine) Load(list []*engine.Program) (errs []error, err error) {
	e.refused, e.plans = map[*site]error{}, nil
	fresh := e.sitesOf(list)
	if !e.opt.Join {
		e.plans, err = e.plan(fresh, e.opt.Avoid)
	}
	return e.errorsOf(list), err
}

// Arm implements engine.Engine, for the programs of the last Load.
func (e *Engine) Arm(list []*engine.Program) (errs []error, err error) {
	if e.ended || e.Replaced() {
		return make([]error, len(list)), engine.ErrReplaced
	}
	e.refused = map[*site]error{}
	if e.opt.Join {
		err = e.insert(e.sitesOf(list))
	} else {
		plans := e.plans
		e.plans = nil
		err = e.install(nil, plans)
	}
	return e.errorsOf(list), err
}

// Remove implements engine.Engine.
func (e *Engine) Remove(list []*engine.Program) error {
	if e.Replaced() {
		return engine.ErrReplaced
	}
	out := map[*site]bool{}
	for _, x := range list {
		out[e.siteOf(x)] = true
	}
	has := func(p *placed) bool {
		return slices.ContainsFunc(p.sites, func(y *site) bool { return out[y] })
	}
	var again []*site
	for _, p := range slices.Clone(e.placed) {
		if !has(p) {
			continue
		}
		sites, err := e.takeOut(p)
		if err != nil {
			return err
		}
		for _, y := range sites {
			if out[y] {
				e.retired = append(e.retired, y)
			} else {
				again = append(again, y)
			}
		}
	}
	return e.putIn(again)
}

// Gone takes programs out whose libraries the process has unloaded, as Refresh has seen
// it: their bytes are gone, and a library that comes to lie there later is none of
// theirs. The thread that changed the list of libraries waits meanwhile.
func (e *Engine) Gone() (gone []*engine.Program) {
	there := map[*module]bool{}
	for _, m := range e.mods {
		there[m] = true
	}
	var kept []*placed
	for _, p := range e.placed {
		if there[p.mod] {
			kept = append(kept, p)
			continue
		}
		for _, x := range p.sites {
			gone = append(gone, x.Program)
			e.retired = append(e.retired, x)
			e.logf("site %d: %s is gone with %s", x.id, x.Label, p.mod.Path)
		}
		e.tables.forget(p.plan.Addr)
	}
	if len(kept) < len(e.placed) {
		e.setPlaced(kept)
	}
	return gone
}

// Reloaded takes the patch of a program out if its code has been loaded anew since: a
// library that was unloaded now lies where it did. It gives the programs that are to be
// made again; none where what was put there still is. A program that has no patch is to
// be made again.
func (e *Engine) Reloaded(x *engine.Program) ([]*engine.Program, error) {
	i := slices.IndexFunc(e.placed, func(p *placed) bool {
		return slices.ContainsFunc(p.sites, func(y *site) bool { return y.Program == x })
	})
	if i < 0 {
		return []*engine.Program{x}, nil
	}
	p := e.placed[i]
	there := true
	err := e.stopped(func(st *process.Stopped) error {
		for _, d := range p.edits {
			there = there && ours(st, d.Addr, d.New)
		}
		return nil
	})
	if err != nil || there {
		return nil, err
	}
	old, err := e.takeOut(p)
	if err != nil {
		return nil, err
	}
	e.retired = append(e.retired, old...)
	var list []*engine.Program
	for _, y := range old {
		e.logf("site %d: its code was loaded anew", y.id)
		list = append(list, y.Program)
	}
	return list, nil
}

// putIn is insert for sites that were in place before; that one cannot be put there
// again is an error.
func (e *Engine) putIn(again []*site) error {
	if len(again) == 0 {
		return nil
	}
	e.refused = map[*site]error{}
	if err := e.insert(again); err != nil {
		return err
	}
	var errs []error
	for _, y := range again {
		if err := e.refused[y]; err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
