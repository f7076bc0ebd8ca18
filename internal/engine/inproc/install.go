package inproc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// installer puts sites into the process, and takes them out.
type installer struct {
	*target
	sites    *sites
	planner  *planner
	uprobes  *uprober
	rooms    *rooms
	buffers  *buffers
	compiler *compiler
	guard    *pageGuard
	handlers *handlers
	tables   *tableRef
	patches  *patches
}

// install puts sites into the process:
//
//  1. plan every patch from the program's own bytes (the process runs)
//  2. stop; map shared memory and room for code; go on
//  3. generate the code for where it will lie (the process runs)
//  4. stop; guard the pages; write trampolines, then the jumps to them; move threads
//     that are stopped between the instructions that a jump replaces; go on
//
// A thread that hits a jump finds its trampoline complete, and the tracer knows
// the code's tables before the first jump is written.
//
// A patch that a thread will come back into the middle of (the frame of a signal
// handler says so) is left out of 4 and made again with int3, which replaces the
// first byte of an instruction only. So is a jump in a page that cannot be guarded.
func (in *installer) install(fresh []*site, plans []*placed) error {
	avoid := in.opt.Avoid
	for {
		var err error
		if len(fresh) > 0 {
			if plans, err = in.planner.plan(fresh, avoid); err != nil {
				return err
			}
		}
		if len(plans) == 0 {
			return nil
		}
		if fresh, err = in.carryIn(plans); err != nil {
			return err
		}
		plans = nil
		avoid |= 1<<patch.Jump | 1<<patch.JumpMany | 1<<patch.Pun
	}
}

// carryIn does steps 2 to 4; it returns the sites that were left out.
func (in *installer) carryIn(plans []*placed) (left []*site, err error) {
	err = in.stopped(func(st *process.Stopped) error { plans, err = in.makeRoom(st, plans); return err })
	if err != nil {
		return nil, err
	}
	plans = in.uprobes.apartForStack(in.sites.keep(plans, in.compiler.generate))
	if err := in.interrupted(); err != nil {
		return nil, err
	}
	var blocked map[*placed]bool
	err = in.stopped(func(st *process.Stopped) error {
		open, err := in.guard.protect(st, plans)
		if err != nil {
			return err
		}
		left = takeSites(&plans, open)
		if plans, err = in.write(st, plans); err == nil {
			plans, blocked, err = in.jump(st, plans)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		for _, x := range p.sites {
			if blocked[p] {
				left = append(left, x)
				continue
			}
			in.logf("site %d: %s at %#x in %s (%s), %d bytes of code at %#x", x.id, x.Label, x.addr, x.where.site.Func, x.tactic, len(p.code), p.at)
		}
	}
	return left, nil
}

// takeSites takes plans out of a list and gives their sites.
func takeSites(plans *[]*placed, out map[*placed]bool) (sites []*site) {
	*plans = slices.DeleteFunc(*plans, func(p *placed) bool {
		if out[p] {
			sites = append(sites, p.sites...)
		}
		return out[p]
	})
	return sites
}

// makeRoom allocates, with the world stopped, what is not there yet. It returns
// the plans that found room.
func (in *installer) makeRoom(st *process.Stopped, plans []*placed) ([]*placed, error) {
	if in.buffers.mem == nil {
		if err := in.mapBuffers(st); err != nil {
			return nil, err
		}
	}
	if n := uint64(len(in.sites.list)); n > uint64(in.buffers.g.Sites) {
		return nil, fmt.Errorf("%d sites are too many: the buffers were made for %d", n, in.buffers.g.Sites)
	}
	plans = in.sites.apartFromLive(st, plans)
	plans = in.sites.keep(plans, func(p *placed) error { return in.rooms.reserve(st, p) })
	return plans, in.rooms.placeStubs(st, plans)
}

// mapBuffers maps what hit programs write to.
func (in *installer) mapBuffers(st *process.Stopped) error {
	if forbidden, err := st.ClockForbidden(); err != nil {
		return err
	} else if forbidden {
		in.handlers.foundNoTSC()
	}
	return in.buffers.mapIn(st, in.p, in.opt, len(in.sites.list))
}

// write puts the trampolines in, with the world stopped. Nothing leads to them yet.
// Plans for code that is not there any more are left out: the program ran since
// they were made and may have unloaded a library or changed its code.
func (in *installer) write(st *process.Stopped, plans []*placed) (same []*placed, err error) {
	same = in.sites.keep(plans, func(p *placed) error {
		for _, d := range p.edits {
			if !ours(st, d.Addr, d.Old) {
				return fmt.Errorf("the code at %#x has changed while the tracepoint was made", d.Addr)
			}
		}
		return nil
	})
	all := &tables{}
	for _, p := range same {
		if err := in.interrupted(); err != nil {
			return nil, err
		}
		if err := p.write(st); err != nil {
			return nil, err
		}
		all.join(&p.tab)
	}
	in.tables.add(all)
	return same, nil
}

// jump writes the jumps to the trampolines, with the world stopped.
//
// The handler for int3s is installed before the first of them is there: jalon can be
// killed between any two writes. And before threads are moved: a call that is
// injected for it lets a thread finish the delivery of a signal, with the pc it has.
func (in *installer) jump(st *process.Stopped, plans []*placed) (kept []*placed, blocked map[*placed]bool, err error) {
	plans = in.sites.apartFromLive(st, plans)
	if err := in.handlers.install(st, in.patches.list(), plans); err != nil {
		return nil, nil, err
	}
	moves, err := threadMoves(st, plans)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range plans {
		if err := in.interrupted(); err != nil {
			return nil, nil, err
		}
		if moves.blocked[p] {
			continue
		}
		// First in the list, then in the program: takeBack takes back what is there.
		in.patches.add(p)
		if err := p.jump(st); err != nil {
			return nil, nil, err
		}
	}
	return plans, moves.blocked, nil
}

// insert installs sites. One at an address that a patch in place covers is made
// together with what is there; that what was there cannot be put in again is an error.
func (in *installer) insert(fresh []*site) error {
	var was []*site
	for _, x := range fresh {
		x.parted = false
		if p := in.patches.at(x.addr); p != nil {
			old, err := in.takeOut(p)
			if err != nil {
				return err
			}
			fresh, was = append(fresh, old...), append(was, old...)
		}
	}
	// Those at one address collect in the order of their numbers.
	slices.SortStableFunc(fresh, func(a, b *site) int { return a.Number - b.Number })
	if err := in.install(fresh, nil); err != nil {
		return err
	}
	var errs []error
	for _, y := range was {
		if err := in.sites.refused[y]; err != nil {
			errs = append(errs, fmt.Errorf("tracepoint %d, which was at the same address, is not armed any more: %w", y.Number, err))
		}
	}
	return errors.Join(errs...)
}

// takeOut gives the program its own bytes back at a patch and returns its sites that are
// enabled. Threads that are in its trampoline leave it by themselves; its code stays.
func (in *installer) takeOut(p *placed) ([]*site, error) {
	if err := in.stopped(func(st *process.Stopped) error { return putBack(st, []*placed{p}) }); err != nil {
		return nil, err
	}
	if p.plan.Tactic == patch.Trapping {
		in.tables.forget(p.plan.Addr)
	}
	in.patches.remove(p)
	var on []*site
	for _, x := range p.sites {
		if x.parted = x.off; !x.off {
			on = append(on, x)
		}
	}
	return on, nil
}

// putIn is insert for sites that were in place before; that one cannot be put there
// again is an error.
func (in *installer) putIn(again []*site) error {
	if len(again) == 0 {
		return nil
	}
	in.sites.begin()
	if err := in.insert(again); err != nil {
		return err
	}
	var errs []error
	for _, y := range again {
		if err := in.sites.refused[y]; err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
