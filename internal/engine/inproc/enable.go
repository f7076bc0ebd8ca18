package inproc

import (
	"iter"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// Enable implements engine.Engine. Each hit begins with a test of its site's switch, a byte in the shared memory, so a
// site is disabled or enabled by one store: the process does not stop, and its code does not change. Hits that have passed the
// test complete their records.
//
// An int3 stops its thread even if the hit does nothing. So the program's own byte is restored, in a stop, while no
// site of the patch is enabled.
func (e *Engine) Enable(list []*engine.Program, on bool) error {
	if on {
		// Calls that were left meanwhile have no returns that were seen.
		for _, x := range list {
			if err := e.buffers.clearMaps(x); err != nil {
				return err
			}
		}
	}
	// Programs at entries come first: a return that is enabled has an entry that is.
	list = e.entries.only(list)
	if !on {
		slices.Reverse(list)
	}
	changed := make([]*site, len(list))
	for i, x := range list {
		changed[i] = e.sites.of(x)
		changed[i].off = !on
	}
	if err := e.buffers.turn(slices.Values(changed)); err != nil {
		return err
	}
	return e.installer.turnTraps(changed)
}

// turn stores the switches of sites.
func (b *buffers) turn(list iter.Seq[*site]) error {
	if b.mem == nil {
		return nil
	}
	return b.mem.Switch(func(yield func(uint32, bool) bool) {
		for x := range list {
			if x.numbered && !yield(x.id, !x.off) {
				return
			}
		}
	})
}

// sitesOf are the sites of plans.
func sitesOf(plans []*placed) iter.Seq[*site] {
	return func(yield func(*site) bool) {
		for _, p := range plans {
			for _, x := range p.sites {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// turnTraps writes or restores the bytes of the patches with int3 of sites that were changed.
func (in *installer) turnTraps(changed []*site) error {
	if !slices.ContainsFunc(in.patches.list(), (*placed).traps) {
		return nil
	}
	of := map[*site]bool{}
	for _, x := range changed {
		of[x] = true
	}
	var put, back []*placed
	for _, p := range in.patches.trapping(of) {
		switch off := p.off(); {
		case off && !p.restored:
			back = append(back, p)
		case !off && p.restored:
			put = append(put, p)
		}
	}
	if len(put)+len(back) == 0 {
		return nil
	}
	return in.stopped(func(st *process.Stopped) error {
		if err := putBack(st, back); err != nil {
			return err
		}
		if err := jumpAgain(st, put); err != nil {
			return err
		}
		for _, p := range back {
			p.restored = true
		}
		for _, p := range put {
			p.restored = false
		}
		return nil
	})
}
