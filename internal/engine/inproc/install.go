package inproc

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// installer installs sites in the process, and removes them.
type installer struct {
	*target
	sites     *sites
	planner   *planner
	uprobes   *uprober
	codeSpace *codeSpace
	buffers   *buffers
	walks     *walks
	mods      *modules
	compiler  *compiler
	guard     *pageGuard
	handlers  *handlers
	tables    *tableRef
	patches   *patches
}

// install installs sites in the process:
//
//  1. Plan every patch from the program's own bytes (the process runs).
//  2. Map memory for code, and read the actions of signals, by calls in one thread. (What calls need in the
//     process is then there, too.) At first, stop; map shared memory; continue; map it
//     in jalon: no code uses it yet.
//  3. Generate the trampolines for their final addresses, and write them (the process runs). Nothing jumps to
//     them. The tracer gets their tables. Guard the pages and write the handler of memory faults, by calls in one
//     thread: nothing leads to it yet.
//  4. Stop; compare the code with that of step 1; at first, list the threads that may use restartable sequences; write the jumps; move threads that are stopped
//     between the instructions that a jump replaces; continue.
//
// A thread that reaches a jump finds a complete trampoline, and the tracer has the tables of the code
// before the first jump is written. If the process calls exec in between, the tables are dropped.
//
// If a thread will return into the middle of a patch (known from the frame of a signal handler), the patch
// is left out of step 4 and made again with int3, which replaces only the first byte of an instruction. The
// same holds for a jump in a page that cannot be guarded.
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
		if fresh, err = in.apply(plans); err != nil {
			return err
		}
		plans = nil
		avoid |= 1<<patch.Jump | 1<<patch.JumpMany | 1<<patch.Pun
	}
}

// apply performs steps 2 to 4; it returns the sites that were left out.
func (in *installer) apply(plans []*placed) (left []*site, err error) {
	if slices.ContainsFunc(plans, (*placed).walks) {
		if err := in.walks.update(in.target, in.mods); err != nil {
			return nil, err
		}
	}
	var unreached []*placed
	err = in.borrowing(func(c callable) error { plans, unreached, err = in.makeRoom(c, plans); return err })
	if err != nil {
		return nil, err
	}
	plans = in.trapInstead(plans, unreached)
	if err := in.mapBuffers(); err != nil {
		return nil, err
	}
	plans = in.uprobes.apartForStack(in.compiler.generateAll(in.sites, plans))
	if err := in.buffers.turn(sitesOf(plans)); err != nil {
		return nil, err
	}
	if err := in.write(plans); err != nil {
		return nil, err
	}
	var refused []refused
	err = in.borrowing(func(c callable) error {
		if refused, err = in.guard.protect(c, plans); err != nil {
			return err
		}
		return in.handlers.prepareFaults(c, plans)
	})
	if err != nil {
		return nil, err
	}
	var blocked map[*placed]bool
	inner := innerOf(plans)
	err = in.stopped(func(st *process.Stopped) error {
		open, err := in.guard.coverAll(st, refused, plans)
		if err != nil {
			return err
		}
		left = takeSites(&plans, open)
		plans, blocked, err = in.jump(st, in.unchanged(st, plans), inner)
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
			in.logf("site %d: %s at %#x in %s (%s), %d bytes of code at %#x", x.id, x.Label, x.addr, x.where.site.Func, x.tactic, p.size, p.at)
		}
	}
	return left, nil
}

// takeSites removes plans from a list and returns their sites.
func takeSites(plans *[]*placed, out map[*placed]bool) (sites []*site) {
	*plans = slices.DeleteFunc(*plans, func(p *placed) bool {
		if out[p] {
			sites = append(sites, p.sites...)
		}
		return out[p]
	})
	return sites
}

// mapBuffers maps the memory that hit programs write to, once. The world is stopped for it: another thread could
// come across the descriptor, or use its number.
func (in *installer) mapBuffers() error {
	if in.buffers.mem == nil {
		if err := in.newBuffers(); err != nil {
			return err
		}
	}
	if n := uint64(len(in.sites.list)); n > uint64(in.buffers.g.Sites) {
		return fmt.Errorf("%d sites are too many: the buffers have room for %d", n, in.buffers.g.Sites)
	}
	return nil
}

func (in *installer) newBuffers() error {
	b := in.buffers
	b.libcRseq = in.mods.libcSequences()
	if err := b.size(in.opt, len(in.sites.list)); err != nil {
		return err
	}
	var f *os.File
	err := in.stopped(func(st *process.Stopped) (err error) { f, err = b.mapIn(st); return err })
	if err != nil {
		return err
	}
	defer f.Close()
	mem, err := b.mapHere(f)
	if err != nil {
		return errors.Join(err, in.borrowing(func(c callable) error { return c.Free(b.base, b.g.MemSize()) }))
	}
	if err := in.p.Access(func(m *process.Memory) error { return b.use(m, mem, f, in.opt) }); err != nil {
		return err
	}
	return b.begin(in.p)
}

// makeRoom allocates memory for code, and reads what must be known of the process. It returns the plans for which
// there was room, and those of them whose punned jump reaches no free address.
func (in *installer) makeRoom(c callable, plans []*placed) (kept, unreached []*placed, err error) {
	need := needOf(plans)
	plans = in.sites.keep(plans, func(p *placed) error { return in.codeSpace.reserve(c, p, need) })
	if unreached, err = in.codeSpace.placeStubs(c, plans); err != nil {
		return nil, nil, err
	}
	forbidden, err := c.Learn()
	if err == nil && forbidden {
		in.handlers.foundNoTSC()
	}
	return plans, unreached, err
}

// trapInstead replaces punned plans without a stub by uprobes, or by int3.
func (in *installer) trapInstead(plans, unreached []*placed) []*placed {
	if len(unreached) == 0 {
		return plans
	}
	gone := map[*placed]bool{}
	for _, p := range unreached {
		gone[p] = true
	}
	for _, p := range in.uprobes.replaceTraps(in.sites.keep(unreached, (*placed).replan)) {
		delete(gone, p)
	}
	return slices.DeleteFunc(plans, func(p *placed) bool { return gone[p] })
}

// write writes the trampolines, while the process runs. Nothing jumps to them yet.
func (in *installer) write(plans []*placed) error {
	all := newTables()
	var pieces []piece
	fresh := map[*region]bool{} // whose constants are to be written
	for _, p := range plans {
		all.take(p)
		pieces = append(pieces, p.pieces()...)
		if r := p.region; !r.written && !fresh[r] {
			fresh[r] = true
			pieces = append(pieces, piece{r.base + r.half(), r.constants})
		}
	}
	return in.p.Access(func(m *process.Memory) error {
		if in.replaced() {
			return engine.ErrReplaced
		}
		err := writeJoined(pieces, func(at uint64, code []byte) error {
			if err := in.interrupted(); err != nil {
				return err
			}
			return m.WriteMem(at, code)
		})
		if err != nil {
			return err
		}
		for r := range fresh {
			r.written = true
		}
		in.tables.add(all)
		for _, p := range plans {
			p.written()
		}
		return nil
	})
}

// unchanged leaves out plans for code that has changed: the program ran since they were made, and may have unloaded
// a library or changed its code.
func (in *installer) unchanged(st *process.Stopped, plans []*placed) []*placed {
	code := codePages{st: st}
	return in.sites.keep(plans, func(p *placed) error {
		if !p.unchanged(&code) {
			in.tables.forget(p.plan.Addr)
			return fmt.Errorf("the code at %#x has changed while the tracepoint was made", p.plan.Addr)
		}
		return nil
	})
}

// jump writes the jumps to the trampolines, with the world stopped.
//
// The handler for int3s is installed before the first jump is written, because jalon can be killed between
// any two writes. It is also installed before threads are moved: the injected call completes the delivery
// of a thread's signal, which needs the thread's present pc.
func (in *installer) jump(st *process.Stopped, plans []*placed, inner []innerPC) (kept []*placed, blocked map[*placed]bool, err error) {
	plans = in.sites.apartFromLive(st, plans)
	st.Learned()
	in.buffers.listThreads(st)
	if err := in.handlers.install(st, in.patches.list(), plans); err != nil {
		return nil, nil, err
	}
	moves, err := threadMoves(st, inner, plans)
	if err != nil {
		return nil, nil, err
	}
	code := codePages{st: st, write: st.WriteMem}
	for _, p := range plans {
		if err := in.interrupted(); err != nil {
			if failed := code.flush(); failed != nil { // the program has what the list has
				err = failed
			}
			return nil, nil, err
		}
		if moves.blocked[p] {
			continue
		}
		// First the list, then the program: takeBack undoes the patches in the list.
		in.patches.add(p)
		if p.restored = p.traps() && p.off(); p.restored {
			continue
		}
		if err := p.jump(&code); err != nil {
			return nil, nil, err
		}
	}
	return plans, moves.blocked, code.flush()
}

// insert installs sites. A site at an address that an existing patch covers is made together with the sites
// of that patch, and a patch that destroys a register that the site reads is made again; failing to install those again is
// an error.
func (in *installer) insert(fresh []*site) error {
	var was []*site
	for _, x := range fresh {
		again := in.patches.destroying(x)
		if p := in.patches.at(x.addr); p != nil && !slices.Contains(again, p) {
			again = append(again, p)
		}
		for _, p := range again {
			if err := in.takeOut(p); err != nil {
				return err
			}
			fresh, was = append(fresh, p.sites...), append(was, p.sites...)
		}
	}
	// Programs at one address collect in the order of their numbers.
	slices.SortStableFunc(fresh, func(a, b *site) int { return a.Number - b.Number })
	if err := in.install(fresh, nil); err != nil {
		return err
	}
	var errs []error
	for _, y := range was {
		if err := in.sites.refused[y]; err != nil {
			errs = append(errs, fmt.Errorf("tracepoint %d, whose code was made again, is no longer armed: %w", y.Number, err))
		}
	}
	return errors.Join(errs...)
}

// takeOut restores the program's bytes at a patch. Threads in its trampoline leave it by themselves; its code stays.
func (in *installer) takeOut(p *placed) error {
	if err := in.stopped(func(st *process.Stopped) error { return putBack(st, []*placed{p}) }); err != nil {
		return err
	}
	if p.traps() {
		in.tables.forget(p.plan.Addr)
	}
	in.patches.remove(p)
	return nil
}

// putIn inserts sites that were installed before; if one cannot be installed again, that is an error.
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
