package inproc

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/jalon-trace/jalon/internal/patch"
)

// planner chooses the tactics of sites from the program's own bytes. It changes nothing in the process,
// except that it attaches uprobes.
type planner struct {
	*target
	sites   *sites
	patches *patches
	buffers *buffers
	others  *others
	uprobes *uprober
	seen    *seen
}

// planning is one run of the planner.
type planning struct {
	*planner
	avoid uint8
	mem   io.ReaderAt
	// codes are the functions around the present site and recent ones. The information about a function
	// takes 30 times its size, so it is not kept for all sites.
	codes  map[uint64]*patch.Code
	plans  []*placed
	shared []*site // at another tracer's breakpoint
}

// maxCodes is the number of functions that are kept.
const maxCodes = 8

// byTrap are the options for a plan with int3.
var byTrap = patch.Options{ABI: true, Boundary: true, Avoid: 1<<patch.Jump | 1<<patch.JumpMany | 1<<patch.Pun}

// plan groups the sites: a site at an instruction that is displaced for another site is served by the
// trampoline of that site.
func (pl *planner) plan(fresh []*site, avoid uint8) ([]*placed, error) {
	fresh = pl.sites.roomFor(fresh, pl.buffers)
	slices.SortStableFunc(fresh, func(a, b *site) int {
		// Programs at one address run in the order of their numbers.
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.Number, b.Number))
	})
	mem, closeMem, err := pl.memory()
	if err != nil {
		return nil, err
	}
	defer closeMem()
	pl.others.found = foreign{}
	run := &planning{planner: pl, avoid: avoid, mem: mem, codes: map[uint64]*patch.Code{}}
	for _, x := range fresh {
		pl.seen.add(x.IR) // also of those that become uprobes
	}
	for i, x := range fresh {
		if err := pl.step("choosing tactics", i, len(fresh)); err != nil {
			return nil, err
		}
		if len(run.codes) > maxCodes {
			clear(run.codes)
		}
		if err := run.site(x); err != nil {
			pl.sites.refuse(x, err)
		}
	}
	pl.uprobes.share(run.shared)
	plans := pl.uprobes.replaceTraps(run.plans)
	for _, p := range plans {
		for _, x := range p.sites {
			x.tactic = p.plan.Tactic.String()
			if x.numbered {
				continue // planned again
			}
			pl.sites.number(x)
		}
	}
	return plans, nil
}

// memory returns the process's memory for reading code.
func (pl *planner) memory() (io.ReaderAt, func(), error) {
	if pl.opt.Breakpoints != nil {
		return ownMemory{pl.p}, func() {}, nil
	}
	// All int3s in the process belong to the program or to jalon.
	f, err := openMem(pl.p.Pid())
	return f, func() { closeFile(f) }, err
}

func closeFile(f *os.File) { _ = f.Close() } // it was only read from

// findDead finds the registers that a hit program may use at the site without saving them. It uses none if another
// tracer has a breakpoint in the function, which may show them.
func (run *planning) findDead(x *site, code *patch.Code) {
	if !run.others.found.within(code.Lo, code.Hi) {
		x.findDead(code)
	}
}

// site plans a site, after those with lower addresses. The error is the reason for skipping it.
func (run *planning) site(x *site) error {
	if n := len(run.plans); n > 0 && x.addr < run.plans[n-1].end() {
		if err := run.plans[n-1].join(x); err != nil {
			return err
		}
		if code, err := run.codeOf(x); err == nil { // otherwise no register counts as dead
			run.findDead(x, code)
		}
		return nil
	}
	if n := len(run.plans); n > 0 && x.addr < run.plans[n-1].heldEnd() {
		// The site would change bytes that the punned jump before it depends on.
		if err := run.plans[n-1].replan(); err != nil {
			run.sites.refuseAll(run.plans[n-1], err)
			run.plans = run.plans[:n-1]
		}
	}
	if run.patches.at(x.addr) != nil {
		return fmt.Errorf("another tracepoint already covers %#x", x.addr)
	}
	code, err := run.codeOf(x)
	if err != nil {
		return err
	}
	if run.others.found.within(x.addr, x.addr+1) {
		run.shared = append(run.shared, x)
		return nil
	}
	if err := x.where.private(); err != nil {
		return err
	}
	p, err := run.choose(x, code)
	if err != nil {
		return err
	}
	run.findDead(x, code)
	run.plans = append(run.plans, p)
	return nil
}

// choose plans a site without others.
func (run *planning) choose(x *site, code *patch.Code) (p *placed, err error) {
	p = &placed{mod: x.where.mod, sites: []*site{x}}
	opt := patch.Options{ABI: true, Boundary: true, Pun: true, Avoid: run.avoid}
	if p.plan, err = x.where.make(code, x.addr, run.free(), opt); err != nil {
		return nil, err
	}
	if p.plan.Tactic != patch.Trapping && (run.patches.overlap(p) || run.broken(p) || run.occupied(p)) {
		if p.plan, err = patch.Make(code, x.addr, patch.Options{ABI: true, Boundary: true, Avoid: run.avoid | 1<<patch.Jump | 1<<patch.JumpMany}); err != nil {
			return nil, err
		}
	}
	if p.plan.Tactic == patch.Pun {
		p.trapping, p.noTrap = patch.Make(code, x.addr, byTrap)
	}
	return p, nil
}

// free is the first address that no earlier plan of the run changes or depends on.
func (run *planning) free() uint64 {
	if n := len(run.plans); n > 0 {
		return run.plans[n-1].heldEnd()
	}
	return 0
}

// broken reports whether a breakpoint of the caller lies in the bytes that a patch changes or depends on,
// except the first.
func (run *planning) broken(n *placed) bool {
	return run.opt.Breakpoints != nil && run.opt.Breakpoints(n.plan.Addr+1, n.heldEnd())
}

// occupied reports whether a breakpoint of another tracer lies in the bytes that a patch changes or depends
// on.
func (run *planning) occupied(n *placed) bool {
	// A punned jump may use bytes after the function.
	if _, err := run.reader(n.mod)(n.plan.Addr, int(n.heldEnd()-n.plan.Addr)); err != nil {
		return true
	}
	return run.others.found.within(n.plan.Addr, n.heldEnd())
}

// codeOf returns the function around a site for patch: the program's own bytes (with relocations, without
// jalon's jumps), the parts that the compiler moved away, landing pads, and ranges that must not be changed.
func (run *planning) codeOf(x *site) (*patch.Code, error) {
	m := x.where.mod
	fn, ok := m.dw.FunctionAt(x.where.site.Addr)
	if !ok {
		return nil, fmt.Errorf("no function is known at %#x: its bounds are needed", x.addr)
	}
	key := partOf(x, fn)
	if c := run.codes[key]; c != nil {
		return c, nil
	}
	c, err := m.functionCode(fn, x.where.site.Addr, run.reader(m))
	if err != nil {
		return nil, err
	}
	run.codes[key] = c
	return c, nil
}

// reader reads a module's code as the program has it: without jalon's jumps, and without the breakpoints of
// other tracers, which it records.
func (run *planning) reader(m *module) reader {
	return func(addr uint64, n int) ([]byte, error) {
		b := make([]byte, n)
		if _, err := run.mem.ReadAt(b, int64(addr)); err != nil {
			return nil, fmt.Errorf("reading %d bytes of code at %#x: %w", n, addr, err)
		}
		run.patches.original(addr, b)
		run.others.take(m, addr, b)
		return b, nil
	}
}
