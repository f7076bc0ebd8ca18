package session

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
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
	mod   *module
	plan  *patch.Plan
	sites []*site
	room  *region
	at    uint64 // of the trampoline
	stub  uint64 // of the jump to it, for a punned jump; 0 = none
	code  []byte
	cold  []coldPart
	pcs   []patch.PCPair
	edits []patch.Edit
	tab   tables
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
func (s *Session) install(fresh []*site) error {
	avoid := s.opt.Avoid
	s.left = map[*tracked]*tracepoint.LeftOut{}
	defer s.warnSlow()
	for len(fresh) > 0 {
		plans, err := s.plan(fresh, avoid)
		if err != nil {
			return err
		}
		if err := s.hopeless(plans); err != nil {
			return err
		}
		if len(plans) == 0 {
			break
		}
		if fresh, err = s.carryIn(plans); err != nil {
			return err
		}
		avoid |= 1<<patch.Jump | 1<<patch.JumpMany | 1<<patch.Pun
	}
	return s.judgeLeftOut()
}

// carryIn does steps 2 to 4; it returns the sites that were left out.
func (s *Session) carryIn(plans []*placed) (left []*site, err error) {
	err = s.stopped(func(st *process.Stopped) error { plans, err = s.makeRoom(st, plans); return err })
	if err != nil {
		return nil, err
	}
	if s.user == nil {
		s.user = s.reading().add(s.shared.mem, false, event.Decoder{Threads: s.thr, Pid: s.p.Pid(), Comm: comm(s.p.Pid(), s.p.Pid())})
	}
	plans = s.keep(plans, s.generate)
	if err := s.interrupted(); err != nil {
		return nil, err
	}
	var blocked map[*placed]bool
	err = s.stopped(func(st *process.Stopped) error {
		open, err := s.guard(st, plans)
		if err != nil {
			return err
		}
		left = takeSites(&plans, open)
		if plans, err = s.write(st, plans); err == nil {
			plans, blocked, err = s.patch(st, plans)
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
			s.logf("site %d: %s at %#x in %s (%s), %d bytes of code at %#x", x.id, x.tp.Place.Text, x.addr, x.where.site.Func, x.tactic, len(p.code), p.at)
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
func (s *Session) plan(fresh []*site, avoid uint8) ([]*placed, error) {
	fresh = s.roomFor(fresh)
	sort.SliceStable(fresh, func(i, j int) bool { return fresh[i].addr < fresh[j].addr })
	var mem io.ReaderAt = ownMemory{s.p}
	if s.opt.breakpoints == nil { // all int3s in the process are the program's and ours
		f, err := openMem(s.p.Pid())
		if err != nil {
			return nil, err
		}
		defer f.Close()
		mem = f
	}
	codes := map[uint64]*patch.Code{}
	s.foreign = foreign{}
	var plans []*placed
	var shared []*site // where another tracer's breakpoint is
	for i, x := range fresh {
		if err := s.step("choosing how to reach the sites", i, len(fresh)); err != nil {
			return nil, err
		}
		if n := len(plans); n > 0 && x.addr < plans[n-1].end() {
			if err := plans[n-1].join(x); err != nil {
				s.leaveOut(x, err)
			}
			continue
		}
		if n := len(plans); n > 0 && x.addr < plans[n-1].heldEnd() {
			// The bytes that the punned jump before borrows are to change.
			plans[n-1].sites[0].code = codes[codeKey(plans[n-1].sites[0])]
			if err := plans[n-1].replan(); err != nil {
				s.leaveOutAll(plans[n-1], err)
				plans = plans[:n-1]
			}
		}
		if old := s.placedAt(x.addr); old != nil {
			s.leaveOut(x, fmt.Errorf("another tracepoint already covers %#x", x.addr))
			continue
		}
		code, err := s.codeOf(x, mem, codes)
		if err != nil {
			s.leaveOut(x, err)
			continue
		}
		if s.foreign.within(x.addr, x.addr+1) {
			shared = append(shared, x)
			continue
		}
		p, err := patch.Make(code, x.addr, patch.Options{ABI: true, Boundary: true, Pun: true, Avoid: avoid})
		if err != nil {
			s.leaveOut(x, err)
			continue
		}
		pl := &placed{mod: x.where.mod, plan: p, sites: []*site{x}}
		if p.Tactic != patch.Trapping && (s.overlaps(pl) || s.broken(pl) || s.occupied(pl, mem)) {
			if pl.plan, err = patch.Make(code, x.addr, patch.Options{ABI: true, Boundary: true, Avoid: avoid | 1<<patch.Jump | 1<<patch.JumpMany}); err != nil {
				s.leaveOut(x, err)
				continue
			}
		}
		plans = append(plans, pl)
	}
	s.share(shared)
	plans = s.hasten(plans)
	for _, p := range plans {
		for _, x := range p.sites {
			x.tactic = p.plan.Tactic.String()
			if x.numbered {
				continue // planned anew
			}
			x.numbered = true
			if !s.reuse(x) {
				x.id = uint32(len(s.sites))
				s.sites = append(s.sites, x)
			}
			s.seen.add(x.prog)
			x.schema.SiteID = x.id
			x.code = codes[codeKey(x)]
		}
	}
	return plans, nil
}

// roomFor leaves out the sites that the buffers, once they are there, have no number for.
func (s *Session) roomFor(fresh []*site) (kept []*site) {
	if s.shared == nil {
		return fresh
	}
	free := int(s.shared.g.Sites) - len(s.sites)
	for _, x := range fresh {
		switch {
		case x.numbered || s.replaces(x) >= 0:
		case free <= 0:
			s.leaveOut(x, fmt.Errorf("the buffers were made for %d sites, and no more", s.shared.g.Sites))
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

func (s *Session) placedAt(addr uint64) *placed {
	for _, p := range s.placed {
		if addr >= p.plan.Addr && addr < p.heldEnd() {
			return p
		}
	}
	return nil
}

// overlaps reports whether a plan needs bytes, to change or to keep, that a patch
// in place changes or keeps.
func (s *Session) overlaps(n *placed) bool {
	for _, p := range s.placed {
		if n.plan.Addr < p.heldEnd() && p.plan.Addr < n.heldEnd() {
			return true
		}
	}
	return false
}

// broken reports whether a breakpoint of a Run's owner lies in the bytes that a
// patch changes or keeps, behind the first.
func (s *Session) broken(n *placed) bool {
	return s.opt.breakpoints != nil && s.opt.breakpoints(n.plan.Addr+1, n.heldEnd())
}

// makeRoom allocates, with the world stopped, what is not there yet. It returns
// the plans that found room.
func (s *Session) makeRoom(st *process.Stopped, plans []*placed) ([]*placed, error) {
	if s.shared == nil {
		if err := s.mapShared(st); err != nil {
			return nil, err
		}
	}
	if n := uint64(len(s.sites)); n > uint64(s.shared.g.Sites) {
		return nil, fmt.Errorf("%d sites are too many: the buffers were made for %d", n, s.shared.g.Sites)
	}
	plans = s.apartFromLive(st, plans)
	plans = s.keep(plans, func(p *placed) error {
		r, err := s.reserve(st, p)
		p.room = r
		return err
	})
	return plans, s.placeStubs(st, plans)
}

// codeAlign is a cache line: a short hit program stays within two.
const codeAlign = 64

// estimate bounds the size of the trampoline from above.
func (p *placed) estimate() uint64 {
	n := uint64(256)
	for _, x := range p.sites {
		n += codeBound(x.prog)
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
func (s *Session) reserve(st *process.Stopped, p *placed) (*region, error) {
	need := p.estimate()
	for _, r := range s.code {
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
	s.code = append(s.code, r)
	if !p.reach(base, size) {
		return nil, fmt.Errorf("the code at %#x refers to what cannot be reached from %#x", p.plan.Addr, base)
	}
	return r, nil
}

// generate compiles the trampoline for where it will lie.
func (s *Session) generate(p *placed) error {
	p.room.hot = (p.room.hot + codeAlign - 1) &^ (codeAlign - 1)
	p.at = p.room.base + p.room.hot
	p.tab = tables{fault: map[uint64]uint64{}, clock: map[uint64]uint64{}, trap: map[uint64]uint64{}}
	insert := func(addr, at uint64) ([]byte, error) {
		var all []byte
		for _, x := range p.sites {
			if x.addr != addr {
				continue
			}
			b, err := s.hitCode(p, x, at+uint64(len(all)))
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		return all, nil
	}
	code, pcs, err := p.plan.Emit(p.at, insert)
	if err != nil {
		return probe.Error(p.sites[0].tp.Place, err)
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
		return probe.Error(p.sites[0].tp.Place, err)
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
func (s *Session) hitCode(p *placed, x *site, at uint64) ([]byte, error) {
	l := s.shared.g.Layout(s.shared.base, x.id)
	l.RseqCPU, l.RDPID, l.FSGSBASE, l.AVX, l.XGETBV1 = s.shared.rseq, s.shared.rdpid, s.shared.fsgsbase, s.shared.avx, s.shared.xgetbv1
	gpr, flags := patch.DeadAt(x.code, x.addr, patch.Options{ABI: true})
	gpr, flags = gpr&^s.seen.gpr, flags && !s.seen.flags
	coldAt := p.room.base + p.room.half() + p.room.cold
	c, err := amd64.Compile(x.prog, amd64.Config{Addr: at, ColdAddr: coldAt, PC: x.addr, Layout: l, DeadGPR: gpr, DeadFlags: flags, NoTSC: s.noTSC.Load()})
	if err != nil {
		return nil, probe.Error(x.tp.Place, err)
	}
	if len(c.Cold) > 0 {
		p.cold = append(p.cold, coldPart{x, coldAt, c.Cold})
		p.room.cold += uint64(len(c.Cold)+15) &^ 15
	}
	for _, f := range c.Faults {
		p.tab.fault[f.PC] = f.Fixup
	}
	for _, pc := range c.Clocks {
		p.tab.clock[pc] = pc + rdtscLen
	}
	s.drain.addSchema(s.user, x.schema, x.tp.pass())
	if d := s.opt.Dump; d.IR != nil {
		d.IR(x.tp.Place.Text, x.prog.String())
	}
	if d := s.opt.Dump; d.Code != nil {
		d.Code(x.tp.Place.Text, strings.Join(c.Listing(), "\n"))
	}
	return c.Bytes, nil
}

// write puts the trampolines in, with the world stopped. Nothing leads to them yet.
// Plans for code that is not there any more are left out: the program ran since
// they were made and may have unloaded a library or changed its code.
func (s *Session) write(st *process.Stopped, plans []*placed) (same []*placed, err error) {
	same = s.keep(plans, func(p *placed) error {
		for _, e := range p.edits {
			if !ours(st, e.Addr, e.Old) {
				return fmt.Errorf("the code at %#x has changed while the tracepoint was made", e.Addr)
			}
		}
		return nil
	})
	all := &tables{}
	for _, p := range same {
		if err := s.interrupted(); err != nil {
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
		all.origin = append(all.origin, p.tab.origin...)
		all.code = append(all.code, p.tab.code...)
	}
	s.tables.add(all)
	return same, nil
}

// patch writes the jumps to the trampolines, with the world stopped.
//
// The handler for int3s is installed before the first of them is there: jalon can be
// killed between any two writes. And before threads are moved: a call that is
// injected for it lets a thread finish the delivery of a signal, with the pc it has.
func (s *Session) patch(st *process.Stopped, plans []*placed) (in []*placed, blocked map[*placed]bool, err error) {
	plans = s.apartFromLive(st, plans)
	if err := s.installTraps(st, plans); err != nil {
		return nil, nil, err
	}
	moves, err := threadMoves(st, plans)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range plans {
		if err := s.interrupted(); err != nil {
			return nil, nil, err
		}
		if moves.blocked[p] {
			continue
		}
		// First in the list, then in the program: detach takes back what is there.
		s.placed = append(s.placed, p)
		for _, e := range p.edits {
			if err := st.WriteMem(e.Addr, e.New); err != nil {
				return nil, nil, err
			}
		}
		for _, x := range p.sites {
			x.tp.sites++
		}
	}
	return plans, moves.blocked, nil
}

func joined(a, b map[uint64]uint64) map[uint64]uint64 {
	if a == nil {
		a = map[uint64]uint64{}
	}
	for k, v := range b {
		a[k] = v
	}
	return a
}

func (s *Session) notePause(d time.Duration) {
	s.logf("stopped for %v", d)
	if d > 0 && (!s.launched || s.state.phase == running) {
		s.pauses = append(s.pauses, d)
	}
}
