package inproc

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// Load implements engine.Engine: it chooses a tactic for each site. The process runs and is not changed,
// except for the programs that Options.Uprobes accepts.
//
// A program at an address that an existing patch covers is installed together with the programs of that
// patch; its tactic is chosen by Arm. With Options.Join this holds for all programs.
func (e *Engine) Load(list []*engine.Program) (errs []error, err error) {
	e.sites.begin()
	e.plans, e.covered = nil, nil
	fresh := e.sites.ofAll(e.entries.load(list))
	if !e.opt.Join {
		fresh, e.covered = e.patches.apart(fresh)
		e.plans, err = e.planner.plan(fresh, e.opt.Avoid)
	}
	return e.errors(list), err
}

// Arm implements engine.Engine for the programs of the last Load.
func (e *Engine) Arm(list []*engine.Program) (errs []error, err error) {
	if e.ended || e.target.replaced() {
		return make([]error, len(list)), engine.ErrReplaced
	}
	e.sites.begin()
	for x := range e.sites.setOf(e.entries.with(list)) {
		x.off = false
	}
	if e.opt.Join {
		err = e.installer.insert(e.sites.ofAll(e.entries.with(list)))
	} else {
		plans, covered := e.plans, e.covered
		e.plans, e.covered = nil, nil
		if err = e.installer.install(nil, plans); err == nil && len(covered) > 0 {
			err = e.installer.insert(covered)
		}
	}
	return e.errors(list), err
}

// Remove implements engine.Engine.
func (e *Engine) Remove(list []*engine.Program) error {
	if e.target.replaced() {
		return engine.ErrReplaced
	}
	list = e.entries.only(list)
	defer e.entries.forget(list)
	out := e.sites.setOf(list)
	has := func(p *placed) bool {
		return slices.ContainsFunc(p.sites, func(y *site) bool { return out[y] })
	}
	var again []*site
	for _, p := range slices.Clone(e.patches.list()) {
		if !has(p) {
			continue
		}
		if err := e.installer.takeOut(p); err != nil {
			return err
		}
		for _, y := range p.sites {
			if out[y] {
				e.sites.retire(y)
			} else {
				again = append(again, y)
			}
		}
	}
	return e.installer.putIn(again)
}

// Gone removes programs whose libraries the process has unloaded before the last Refresh. Their bytes do
// not exist any more; a library that is mapped at the same addresses later is a different one. The thread
// that changed the list of libraries waits meanwhile.
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
			e.logf("site %d: %s: its library %s was unloaded", x.id, x.Label, p.mod.Path)
		}
		e.tables.forget(p.plan.Addr)
	}
	if len(gone) > 0 {
		e.patches.set(kept)
		e.entries.forget(gone)
	}
	return gone
}

// Reloaded removes the patch of a program if its library was unloaded and loaded again at the same address.
// It returns the programs that must be installed again; none if the patch is still in place. A program
// without a patch must be installed again.
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
	if err := e.installer.takeOut(p); err != nil {
		return nil, err
	}
	e.sites.retire(p.sites...)
	var list []*engine.Program
	for _, y := range p.sites {
		e.logf("site %d: its code was loaded again", y.id)
		list = append(list, y.Program)
	}
	return list, nil
}

// NoUprobe records that the kernel no longer accepts a uprobe for a program. When the program is loaded
// again, it gets code in the process.
func (e *Engine) NoUprobe(x *engine.Program) {
	y := e.sites.of(x)
	y.noUprobe, y.tactic = true, ""
}
