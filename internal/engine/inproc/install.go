package inproc

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// region is memory of ours for code, within a jump's reach of a module. Its first
// half holds what runs at every hit, densely; its second half the rest of the hit
// programs.
type region struct {
	base, size uint64
	promised   uint64 // bytes of either half that plans may fill
	hot, cold  uint64 // filled so far
}

func (r *region) half() uint64 { return r.size / 2 }

// placed is a plan that is carried out: one jump, its trampoline, its sites.
type placed struct {
	mod  *module
	plan *patch.Plan
	// trapping is the plan by int3, for a punned jump that finds no room for its stub.
	trapping *patch.Plan
	noTrap   error // why there is none
	sites    []*site
	room     *region
	at       uint64 // of the trampoline
	stub     uint64 // of the jump to it, for a punned jump; 0 = none
	code     []byte
	cold     []coldPart
	pcs      []patch.PCPair
	edits    []patch.Edit
	tab      tables
	// noStack says why the code must not run: it would store below a goroutine's stack.
	noStack error
}

// coldPart is the rare part of a hit program.
type coldPart struct {
	site *site
	at   uint64
	code []byte
}

func (p *placed) end() uint64 { return p.plan.Addr + uint64(p.plan.Len) }

// install puts sites into the process:
//
//  1. plan every patch from the program's own bytes (the process runs)
//  2. stop; map shared memory and room for code; go on
//  3. generate the code for where it will lie (the process runs)
//  4. stop; guard the pages; write trampolines, then the jumps to them; move threads
//     that stand between the instructions that a jump replaces; go on
//
// A thread that hits a jump finds its trampoline complete, and the tracer knows
// the code's tables before the first jump is written.
//
// A patch that a thread will come back into the middle of (the frame of a signal
// handler says so) is left out of 4 and made again with int3, which replaces the
// first byte of an instruction only. So is a jump in a page that cannot be guarded.
func (e *Engine) install(fresh []*site, plans []*placed) error {
	avoid := e.opt.Avoid
	for {
		var err error
		if len(fresh) > 0 {
			if plans, err = e.plan(fresh, avoid); err != nil {
				return err
			}
		}
		if len(plans) == 0 {
			return nil
		}
		if fresh, err = e.carryIn(plans); err != nil {
			return err
		}
		plans = nil
		avoid |= 1<<patch.Jump | 1<<patch.JumpMany | 1<<patch.Pun
	}
}

// carryIn does steps 2 to 4; it returns the sites that were left out.
func (e *Engine) carryIn(plans []*placed) (left []*site, err error) {
	err = e.stopped(func(st *process.Stopped) error { plans, err = e.makeRoom(st, plans); return err })
	if err != nil {
		return nil, err
	}
	plans = e.apartForStack(e.keep(plans, e.generate))
	if err := e.interrupted(); err != nil {
		return nil, err
	}
	var blocked map[*placed]bool
	err = e.stopped(func(st *process.Stopped) error {
		open, err := e.guard(st, plans)
		if err != nil {
			return err
		}
		left = takeSites(&plans, open)
		if plans, err = e.write(st, plans); err == nil {
			plans, blocked, err = e.patch(st, plans)
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
			e.logf("site %d: %s at %#x in %s (%s), %d bytes of code at %#x", x.id, x.Label, x.addr, x.where.site.Func, x.tactic, len(p.code), p.at)
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

// plan groups the sites: one that lies between the instructions displaced for
// another is served by the other's trampoline.
func (e *Engine) plan(fresh []*site, avoid uint8) ([]*placed, error) {
	fresh = e.roomFor(fresh)
	sort.SliceStable(fresh, func(i, j int) bool { return fresh[i].addr < fresh[j].addr })
	var mem io.ReaderAt = ownMemory{e.p}
	if e.opt.Breakpoints == nil { // all int3s in the process are the program's and ours
		f, err := openMem(e.p.Pid())
		if err != nil {
			return nil, err
		}
		defer f.Close()
		mem = f
	}
	// The functions around the present site and those before it. What is known of a function
	// takes 30 times its size, so it is not kept for the sites.
	codes := map[uint64]*patch.Code{}
	const keep = 8
	e.foreign = foreign{}
	var plans []*placed
	var shared []*site // where another tracer's breakpoint is
	for i, x := range fresh {
		if err := e.step("choosing how to reach the sites", i, len(fresh)); err != nil {
			return nil, err
		}
		if len(codes) > keep {
			clear(codes)
		}
		if n := len(plans); n > 0 && x.addr < plans[n-1].end() {
			if err := plans[n-1].join(x); err != nil {
				e.refuse(x, err)
			} else if code, err := e.codeOf(x, mem, codes); err == nil { // else nothing is dead
				x.findDead(code)
			}
			continue
		}
		if n := len(plans); n > 0 && x.addr < plans[n-1].heldEnd() {
			// The bytes that the punned jump before borrows are to change.
			if err := plans[n-1].replan(); err != nil {
				e.refuseAll(plans[n-1], err)
				plans = plans[:n-1]
			}
		}
		if old := e.placedAt(x.addr); old != nil {
			e.refuse(x, fmt.Errorf("another tracepoint already covers %#x", x.addr))
			continue
		}
		code, err := e.codeOf(x, mem, codes)
		if err != nil {
			e.refuse(x, err)
			continue
		}
		if e.foreign.within(x.addr, x.addr+1) {
			shared = append(shared, x)
			continue
		}
		p, err := patch.Make(code, x.addr, patch.Options{ABI: true, Boundary: true, Pun: true, Avoid: avoid})
		if err != nil {
			e.refuse(x, err)
			continue
		}
		pl := &placed{mod: x.where.mod, plan: p, sites: []*site{x}}
		if p.Tactic != patch.Trapping && (e.overlaps(pl) || e.broken(pl) || e.occupied(pl, mem)) {
			if pl.plan, err = patch.Make(code, x.addr, patch.Options{ABI: true, Boundary: true, Avoid: avoid | 1<<patch.Jump | 1<<patch.JumpMany}); err != nil {
				e.refuse(x, err)
				continue
			}
		}
		if pl.plan.Tactic == patch.Pun {
			pl.trapping, pl.noTrap = patch.Make(code, x.addr, byTrap)
		}
		x.findDead(code)
		plans = append(plans, pl)
	}
	e.share(shared)
	plans = e.hasten(plans)
	for _, p := range plans {
		for _, x := range p.sites {
			x.tactic = p.plan.Tactic.String()
			if x.numbered {
				continue // planned anew
			}
			x.numbered = true
			if !e.reuse(x) {
				x.id = uint32(len(e.sites))
				e.sites = append(e.sites, x)
			}
			e.seen.add(x.IR)
			x.Schema.SiteID = x.id
		}
	}
	return plans, nil
}

// byTrap are the options for a plan by int3.
var byTrap = patch.Options{ABI: true, Boundary: true, Avoid: 1<<patch.Jump | 1<<patch.JumpMany | 1<<patch.Pun}

// findDead looks which registers a hit program may use at the site without saving them.
func (x *site) findDead(code *patch.Code) {
	x.dead, x.deadFlags = patch.DeadAt(code, x.addr, patch.Options{ABI: true})
}

// roomFor leaves out the sites that the buffers, once they are there, have no number for.
func (e *Engine) roomFor(fresh []*site) (kept []*site) {
	if e.shared == nil {
		return fresh
	}
	free := int(e.shared.g.Sites) - len(e.sites)
	for _, x := range fresh {
		switch {
		case x.numbered || e.replaces(x) >= 0:
		case free <= 0:
			e.refuse(x, fmt.Errorf("the buffers were made for %d sites, and no more", e.shared.g.Sites))
			continue
		default:
			free--
		}
		kept = append(kept, x)
	}
	return kept
}

// join adds a site at an instruction that the plan displaces anyway.
func (p *placed) join(x *site) error {
	for i := range p.plan.Insts {
		if p.plan.Insts[i].Addr == x.addr {
			p.sites = append(p.sites, x)
			return nil
		}
	}
	return fmt.Errorf("no instruction begins at %#x", x.addr)
}

func (e *Engine) placedAt(addr uint64) *placed {
	for _, p := range e.placed {
		if addr >= p.plan.Addr && addr < p.heldEnd() {
			return p
		}
	}
	return nil
}

// overlaps reports whether a plan needs bytes, to change or to keep, that a patch
// in place changes or keeps.
func (e *Engine) overlaps(n *placed) bool {
	for _, p := range e.placed {
		if n.plan.Addr < p.heldEnd() && p.plan.Addr < n.heldEnd() {
			return true
		}
	}
	return false
}

// broken reports whether a breakpoint of a Run's owner lies in the bytes that a
// patch changes or keeps, behind the first.
func (e *Engine) broken(n *placed) bool {
	return e.opt.Breakpoints != nil && e.opt.Breakpoints(n.plan.Addr+1, n.heldEnd())
}

// makeRoom allocates, with the world stopped, what is not there yet. It returns
// the plans that found room.
func (e *Engine) makeRoom(st *process.Stopped, plans []*placed) ([]*placed, error) {
	if e.shared == nil {
		if err := e.mapShared(st); err != nil {
			return nil, err
		}
	}
	if n := uint64(len(e.sites)); n > uint64(e.shared.g.Sites) {
		return nil, fmt.Errorf("%d sites are too many: the buffers were made for %d", n, e.shared.g.Sites)
	}
	plans = e.apartFromLive(st, plans)
	plans = e.keep(plans, func(p *placed) error {
		r, err := e.reserve(st, p)
		p.room = r
		return err
	})
	return plans, e.placeStubs(st, plans)
}

// codeAlign is a cache line: a short hit program stays within two.
const codeAlign = 64

// estimate bounds the size of the trampoline from above.
func (p *placed) estimate() uint64 {
	n := uint64(256)
	for _, x := range p.sites {
		n += codeBound(x.IR)
	}
	return (n + codeAlign - 1) &^ (codeAlign - 1)
}

// codeBound is generous: address space costs nothing.
func codeBound(p *ir.Program) uint64 {
	n := uint64(1024)
	for _, b := range p.Blocks {
		n += 64 + uint64(len(b.Instrs))*192
		for i := range b.Instrs {
			n += uint64(len(b.Instrs[i].Data)) * 16
		}
	}
	return n
}

// reach reports whether the trampoline can lie anywhere in a stretch of memory. A
// punned jump comes to it by way of a stub.
func (p *placed) reach(base, size uint64) bool {
	plan := *p.plan
	if plan.Tactic == patch.Pun {
		plan.Tactic = patch.Trapping
	}
	return plan.Reach(base, int(size))
}

// reserve promises a trampoline room in a region that its site can reach.
func (e *Engine) reserve(st *process.Stopped, p *placed) (*region, error) {
	need := p.estimate()
	for _, r := range e.code {
		if r.half()-r.promised >= need && p.reach(r.base, r.size) {
			r.promised += need
			return r, nil
		}
	}
	size := max(2*need, 1<<20)
	base, err := st.AllocNear(p.plan.Addr, size)
	if err != nil {
		return nil, err
	}
	r := &region{base: base, size: size, promised: need}
	e.code = append(e.code, r)
	if !p.reach(base, size) {
		return nil, fmt.Errorf("the code at %#x refers to what cannot be reached from %#x", p.plan.Addr, base)
	}
	return r, nil
}

// generate compiles the trampoline for where it will lie.
func (e *Engine) generate(p *placed) error {
	p.room.hot = (p.room.hot + codeAlign - 1) &^ (codeAlign - 1)
	p.at = p.room.base + p.room.hot
	p.tab = tables{fault: map[uint64]uint64{}, edge: map[uint64]edge{}, clock: map[uint64]uint64{}, trap: map[uint64]uint64{}}
	insert := func(addr, at uint64) ([]byte, error) {
		var all []byte
		for _, x := range p.sites {
			if x.addr != addr {
				continue
			}
			b, err := e.hitCode(p, x, at+uint64(len(all)))
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		return all, nil
	}
	code, pcs, err := p.plan.Emit(p.at, insert)
	if err != nil {
		return err
	}
	if uint64(len(code)) > p.estimate() {
		panic(fmt.Sprintf("BUG: a trampoline of %d bytes was thought to need %d", len(code), p.estimate()))
	}
	p.code, p.pcs = code, pcs
	p.room.hot += uint64(len(code))
	if p.room.hot > p.room.half() || p.room.cold > p.room.half() {
		panic(fmt.Sprintf("BUG: the code for %#x outgrows its room: %d and %d of %d bytes", p.plan.Addr, p.room.hot, p.room.cold, p.room.half()))
	}
	if p.edits, err = p.plan.Edits(p.entry()); err != nil {
		return err
	}
	if p.plan.Tactic == patch.Trapping {
		p.tab.trap[p.plan.Addr] = p.at
	}
	p.tab.origin = p.copies()
	p.tab.code = []span{{p.at, p.at + uint64(len(code))}}
	if p.stub != 0 {
		p.tab.code = append(p.tab.code, span{p.stub, p.stub + stubLen})
	}
	for _, c := range p.cold {
		p.tab.code = append(p.tab.code, span{c.at, c.at + uint64(len(c.code))})
	}
	return nil
}

// hitCode compiles one site's hit program for an address.
func (e *Engine) hitCode(p *placed, x *site, at uint64) ([]byte, error) {
	l := e.shared.g.Layout(e.shared.base, x.id)
	l.RseqCPU, l.RDPID, l.FSGSBASE, l.AVX, l.XGETBV1 = e.shared.rseq, e.shared.rdpid, e.shared.fsgsbase, e.shared.avx, e.shared.xgetbv1
	gpr, flags := x.dead&^e.seen.gpr, x.deadFlags && !e.seen.flags
	coldAt := p.room.base + p.room.half() + p.room.cold
	c, err := amd64.Compile(x.IR, amd64.Config{Addr: at, ColdAddr: coldAt, PC: x.addr, Layout: l, DeadGPR: gpr, DeadFlags: flags, NoTSC: e.noTSC.Load()})
	if err != nil {
		return nil, err
	}
	if err := p.mod.stackFor(x.addr, c.Stack); err != nil {
		p.noStack = err
	}
	if len(c.Cold) > 0 {
		p.cold = append(p.cold, coldPart{x, coldAt, c.Cold})
		p.room.cold += uint64(len(c.Cold)+15) &^ 15
	}
	for _, f := range c.Faults {
		p.tab.fault[f.PC] = f.Fixup
	}
	for _, f := range c.Edges {
		p.tab.edge[f.PC] = edge{f.Fixup, x.id}
	}
	for _, pc := range c.Clocks {
		p.tab.clock[pc] = pc + rdtscLen
	}
	if d := e.opt.Dump; d.IR != nil {
		d.IR(x.Label, x.IR.String())
	}
	if d := e.opt.Dump; d.Code != nil {
		d.Code(x.Label, strings.Join(c.Listing(), "\n"))
	}
	return c.Bytes, nil
}

// write puts the trampolines in, with the world stopped. Nothing leads to them yet.
// Plans for code that is not there any more are left out: the program ran since
// they were made and may have unloaded a library or changed its code.
func (e *Engine) write(st *process.Stopped, plans []*placed) (same []*placed, err error) {
	same = e.keep(plans, func(p *placed) error {
		for _, e := range p.edits {
			if !ours(st, e.Addr, e.Old) {
				return fmt.Errorf("the code at %#x has changed while the tracepoint was made", e.Addr)
			}
		}
		return nil
	})
	all := &tables{}
	for _, p := range same {
		if err := e.interrupted(); err != nil {
			return nil, err
		}
		if err := st.WriteMem(p.at, p.code); err != nil {
			return nil, err
		}
		if p.stub != 0 {
			if err := st.WriteMem(p.stub, p.stubCode()); err != nil {
				return nil, err
			}
		}
		for _, c := range p.cold {
			if err := st.WriteMem(c.at, c.code); err != nil {
				return nil, err
			}
		}
		all.fault, all.trap, all.clock = joined(all.fault, p.tab.fault), joined(all.trap, p.tab.trap), joined(all.clock, p.tab.clock)
		all.edge = joined(all.edge, p.tab.edge)
		all.origin = append(all.origin, p.tab.origin...)
		all.code = append(all.code, p.tab.code...)
	}
	e.tables.add(all)
	return same, nil
}

// patch writes the jumps to the trampolines, with the world stopped.
//
// The handler for int3s is installed before the first of them is there: jalon can be
// killed between any two writes. And before threads are moved: a call that is
// injected for it lets a thread finish the delivery of a signal, with the pc it has.
func (e *Engine) patch(st *process.Stopped, plans []*placed) (in []*placed, blocked map[*placed]bool, err error) {
	plans = e.apartFromLive(st, plans)
	if err := e.installTraps(st, plans); err != nil {
		return nil, nil, err
	}
	moves, err := threadMoves(st, plans)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range plans {
		if err := e.interrupted(); err != nil {
			return nil, nil, err
		}
		if moves.blocked[p] {
			continue
		}
		// First in the list, then in the program: detach takes back what is there.
		e.placed = append(e.placed, p)
		for _, e := range p.edits {
			if err := st.WriteMem(e.Addr, e.New); err != nil {
				return nil, nil, err
			}
		}
	}
	return plans, moves.blocked, nil
}

func joined[T any](a, b map[uint64]T) map[uint64]T {
	if a == nil {
		a = map[uint64]T{}
	}
	for k, v := range b {
		a[k] = v
	}
	return a
}

func (e *Engine) notePause(d time.Duration) {
	e.logf("stopped for %v", d)
	if d > 0 && e.opt.OnPause != nil {
		e.opt.OnPause(d)
	}
}
