package inproc

import (
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
	e.sites.begin()
	e.plans = nil
	fresh := e.sites.ofAll(list)
	if !e.opt.Join {
		e.plans, err = e.planner.plan(fresh, e.opt.Avoid)
	}
	return e.sites.errors(list), err
}

// Arm implements engine.Engine, for the programs of the last Load.
func (e *Engine) Arm(list []*engine.Program) (errs []error, err error) {
	if e.ended || e.target.replaced() {
		return make([]error, len(list)), engine.ErrReplaced
	}
	e.sites.begin()
	if e.opt.Join {
		err = e.installer.insert(e.sites.ofAll(list))
	} else {
		plans := e.plans
		e.plans = nil
		err = e.installer.install(nil, plans)
	}
	return e.sites.errors(list), err
}

// Enable implements engine.Engine:
//
//  1. Disabling restores the program's own bytes, with the world stopped. No thread
//     enters the trampolines any more; threads within leave them by themselves, and
//     they stay where they are.
//  2. Enabling writes the jumps again. Threads that are stopped between the instructions
//     that a jump replaces are moved, as when the sites were made.
//
// A patch that also serves programs which are not in the list is left as it is, which
// is an error.
func (e *Engine) Enable(list []*engine.Program, on bool) error {
	mine, err := e.patches.serving(e.sites.setOf(list))
	if err != nil || len(mine) == 0 {
		return err
	}
	return e.target.stopped(func(st *process.Stopped) error {
		if on {
			return jumpAgain(st, mine)
		}
		return putBack(st, mine)
	})
}

// Remove implements engine.Engine.
func (e *Engine) Remove(list []*engine.Program) error {
	if e.target.replaced() {
		return engine.ErrReplaced
	}
	out := e.sites.setOf(list)
	has := func(p *placed) bool {
		return slices.ContainsFunc(p.sites, func(y *site) bool { return out[y] })
	}
	var again []*site
	for _, p := range slices.Clone(e.patches.list()) {
		if !has(p) {
			continue
		}
		list, err := e.installer.takeOut(p)
		if err != nil {
			return err
		}
		for _, y := range list {
			if out[y] {
				e.sites.retire(y)
			} else {
				again = append(again, y)
			}
		}
	}
	return e.installer.putIn(again)
}

// Gone takes programs out whose libraries the process has unloaded, as Refresh has seen
// it: their bytes are gone, and a library that comes to lie there later is none of
// theirs. The thread that changed the list of libraries waits meanwhile.
func (e *Engine) Gone() (gone []*engine.Program) {
	there := map[*module]bool{}
	for _, m := range e.mods.list {
		there[m] = true
	}
	var kept []*placed
	for _, p := range e.patches.list() {
		if there[p.mod] {
			kept = append(kept, p)
			continue
		}
		for _, x := range p.sites {
			gone = append(gone, x.Program)
			e.sites.retire(x)
			e.logf("site %d: %s is gone with %s", x.id, x.Label, p.mod.Path)
		}
		e.tables.forget(p.plan.Addr)
	}
	if len(gone) > 0 {
		e.patches.set(kept)
	}
	return gone
}

// Reloaded takes the patch of a program out if its code has been loaded anew since: a
// library that was unloaded now lies where it did. It gives the programs that are to be
// made again; none where what was put there still is. A program that has no patch is to
// be made again.
func (e *Engine) Reloaded(x *engine.Program) ([]*engine.Program, error) {
	p := e.patches.of(x)
	if p == nil {
		return []*engine.Program{x}, nil
	}
	there := true
	err := e.target.stopped(func(st *process.Stopped) error {
		for _, d := range p.edits {
			there = there && ours(st, d.Addr, d.New)
		}
		return nil
	})
	if err != nil || there {
		return nil, err
	}
	old, err := e.installer.takeOut(p)
	if err != nil {
		return nil, err
	}
	e.sites.retire(old...)
	var list []*engine.Program
	for _, y := range old {
		e.logf("site %d: its code was loaded anew", y.id)
		list = append(list, y.Program)
	}
	return list, nil
}

// NoUprobe notes that the kernel does not take a uprobe for a program any more: when it
// is loaded again it is reached by code in the process.
func (e *Engine) NoUprobe(x *engine.Program) {
	y := e.sites.of(x)
	y.noUprobe, y.tactic = true, ""
}
