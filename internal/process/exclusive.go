package process

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// An exclusive step is what a thread does while all others that share the memory are stopped:
//
//   - step over a breakpoint: its byte is the original one meanwhile, and another
//     thread would run past it
//   - be led out of generated code, by int3s at the boundaries before it
//
// The world is stopped when all events are handled, once for all threads that
// wait for it. While it is stopped for something else nothing is done: then the thread
// waits until it goes on.
type exclusiveStep struct {
	temps map[uint64]bool // int3s for the time being; their bytes are in space.breaks
	done  bool
}

// needExclusive holds a thread until its exclusive step is made.
func (p *Process) needExclusive(t *task) {
	t.hold |= holdExclusive
	if !slices.Contains(p.ctl.pendingExclusive, t) {
		p.ctl.pendingExclusive = append(p.ctl.pendingExclusive, t)
	}
	p.queueExclusive()
}

// queueExclusive has the exclusive steps made when the queue of events is empty.
func (p *Process) queueExclusive() {
	if !p.ctl.exclusiveQueued && p.frozen == 0 && len(p.ctl.pendingExclusive) > 0 {
		p.ctl.exclusiveQueued = true
		p.late = append(p.late, p.doExclusive)
	}
}

func (p *Process) doExclusive() {
	p.ctl.exclusiveQueued = false
	if p.frozen > 0 || p.finished || len(p.ctl.pendingExclusive) == 0 {
		return // thaw queues it again
	}
	defer p.thaw()
	_ = p.freeze() // stuck: better without than never; gone: nothing is left to do
	for !p.finished && len(p.ctl.pendingExclusive) > 0 {
		t := p.ctl.pendingExclusive[0]
		p.ctl.pendingExclusive = p.ctl.pendingExclusive[1:]
		if p.tasks[t.tid] != t || t.state != stopped {
			continue
		}
		if t.dbg.over != 0 {
			p.stepOver(t)
		}
		if p.tasks[t.tid] == t && t.state == stopped && p.inside(t) {
			p.runOut(t)
		}
		if p.tasks[t.tid] == t && t.state == stopped {
			t.hold &^= holdExclusive
			p.reportPending(t)
		}
	}
}

// postpone puts off the breakpoints to be stepped over: their threads stay before
// them, and come to the same hit again when they go on.
func (p *Process) postponeExclusive() {
	for _, t := range p.ctl.pendingExclusive {
		t.hold &^= holdExclusive
		t.dbg.putOff(t.tid)
	}
	p.ctl.pendingExclusive = nil
}

func (d *stopState) putOff(tid int) {
	var regs Regs
	if d.over != 0 && sys.GetRegs(tid, &regs) == nil {
		d.again = again{d.over, regs.SP()}
	}
	d.over = 0
}

// reportPending reports a stopped thread's pending events once its pc is a user address.
func (p *Process) reportPending(t *task) {
	d := &t.dbg
	if d.stepDone {
		p.stepMade(t)
	}
	if d.why != nil {
		p.reportStop(t)
	}
	if len(d.late) > 0 {
		p.lateSignals(t)
	}
	p.halted(t)
}

// How long one instruction, or a hit program, may take before its thread is
// interrupted. One that sleeps waits for a page, or is in a call; one that is ready to
// run only waits for its turn on a busy machine, and is a few instructions from its end.
// Tests make them shorter.
var (
	exclusiveLimit = 200 * time.Millisecond
	readyLimit     = 30 * time.Second
)

var errTimeout = errors.New("timeout")

// runExclusively lets t run until its exclusive step is made, moved says that it is,
// or ok is false: it was interrupted in between, or is gone.
func (p *Process) runExclusively(t *task, req sys.How, temps map[uint64]bool, moved func(*Regs) bool) (ok bool) {
	d := &t.dbg
	d.exclusive = &exclusiveStep{temps: temps}
	defer func() { d.exclusive = nil }() // after the other one
	grouped, late := false, false
	defer func() {
		if grouped && p.tasks[t.tid] == t && t.state == stopped {
			_ = p.settle(t) // back to the group-stop; an error: it is dying
		}
	}()
	sig := t.sig
	for range 100 {
		// The trap of an earlier step can still wait.
		d.stepping = req == sys.ByStep || d.stepping && pendingFault(t.tid)
		if err := sys.Resume(t.tid, req, sig); err != nil {
			return false
		}
		sig, t.sig = 0, 0
		t.state = running
		ws, err := p.awaitSoon(t)
		if late = err == errTimeout; late {
			p.interrupt(t)
			ws, err = p.await(t)
		}
		if err != nil {
			return false
		}
		p.handleStop(t.tid, ws)
		var regs Regs
		if p.tasks[t.tid] != t || t.state != stopped || sys.GetRegs(t.tid, &regs) != nil {
			return false
		}
		grouped = grouped || t.stop == stopGroup // it goes on nevertheless until it is done
		if pendingFault(t.tid) {
			continue // the kernel reports the interrupt before the trap, which comes first of all now
		}
		if d.exclusive.done || moved(&regs) {
			return true
		}
		if t.stop == stopCall || late {
			return false
		}
	}
	return false
}

// awaitSoon is await; errTimeout: the thread is not at its end in time.
func (p *Process) awaitSoon(t *task) (unix.WaitStatus, error) {
	start := time.Now()
	return p.awaitUnless(t, func(state byte) bool {
		took := time.Since(start)
		return took > exclusiveLimit && (state == 'S' || state == 'D') || took > readyLimit
	})
}

// stepOver executes the instruction under a breakpoint.
func (p *Process) stepOver(t *task) {
	d := &t.dbg
	addr := d.over
	var regs Regs
	orig, there := p.space.Breaks[addr]
	if sys.GetRegs(t.tid, &regs) != nil || regs.PC() != addr || !there || !p.ctl.user[addr] {
		d.over = 0 // moved, or the breakpoint was removed: it goes on from where it is
		return
	}
	in := p.insnAt(addr)
	if p.space.WriteRaw(addr, []byte{orig}) != nil {
		d.over = 0 // the memory is gone
		return
	}
	moved := func(r *Regs) bool { return r.PC() != addr }
	ok := false
	switch in.kind {
	case insnCall:
		ok = p.enterCall(t)
	case insnRep:
		ok = p.runTo(t, addr+uint64(in.len), moved)
	default:
		ok = p.runExclusively(t, sys.ByStep, nil, moved)
		if ok {
			p.fixStep(t, in.kind)
		}
	}
	if p.ctl.user[addr] && p.space.Err() == nil {
		_ = p.space.WriteRaw(addr, []byte{memory.Int3}) // an error: the memory is gone
	}
	switch {
	case p.tasks[t.tid] != t || t.state != stopped:
	case !ok:
		d.putOff(t.tid)
	case in.kind != insnCall && d.kept == nil && t.sig == 0:
		d.stepDone = true
	}
	d.over = 0
}

// enterCall takes a thread into the system call under a breakpoint; the call may
// sleep, and the others go on before it returns.
func (p *Process) enterCall(t *task) bool {
	d := &t.dbg
	d.call = true
	ok := p.runExclusively(t, sys.ToCall, nil, func(*Regs) bool { return t.stop == stopCall })
	if !ok {
		d.call = false
	}
	return ok
}

// callDone is the exit from such a call. One that the kernel is about to restart
// comes to the breakpoint again.
func (p *Process) callDone(t *task) {
	d := &t.dbg
	d.call = false
	var regs Regs
	if sys.GetRegs(t.tid, &regs) != nil {
		return
	}
	if sys.Restarts(&regs) {
		d.again = again{regs.PC() - sys.SyscallLen, regs.SP()}
		return
	}
	d.stepDone = true
}

// runTo runs a thread to a place by an int3 there.
func (p *Process) runTo(t *task, to uint64, moved func(*Regs) bool) bool {
	temps, err := p.setTemps([]uint64{to})
	defer p.clearTemps(temps)
	if err != nil {
		return false
	}
	return p.runExclusively(t, sys.Free, temps, moved)
}

// setTemps writes int3s for the time being, where there is none of ours.
func (p *Process) setTemps(addrs []uint64) (map[uint64]bool, error) {
	temps := map[uint64]bool{}
	for _, a := range addrs {
		if temps[a] {
			continue
		}
		if _, ours := p.space.Breaks[a]; !ours {
			var b [1]byte
			if err := p.space.Read(a, b[:]); err != nil {
				return temps, err
			}
			if err := p.space.WriteRaw(a, []byte{memory.Int3}); err != nil {
				return temps, err
			}
			p.space.Breaks[a] = b[0]
		} else if !p.ctl.user[a] {
			continue // ld.so's, which is handled by itself
		}
		temps[a] = true
	}
	return temps, nil
}

func (p *Process) clearTemps(temps map[uint64]bool) {
	for a := range temps {
		if p.ctl.user[a] {
			continue
		}
		_ = p.space.WriteRaw(a, []byte{p.space.Breaks[a]}) // an error: the memory is gone
		delete(p.space.Breaks, a)
	}
}

// runOut leads a thread out of generated code, or to a boundary. When that does
// not work in time (it sleeps there) it stays where it is.
func (p *Process) runOut(t *task) {
	for range 10_000 { // more than any hit program has instructions
		var regs Regs
		if p.tasks[t.tid] != t || t.state != stopped || sys.GetRegs(t.tid, &regs) != nil {
			return
		}
		c := p.where(regs.PC())
		if !c.In || c.Boundary {
			return
		}
		pc := regs.PC()
		ok := false
		if len(c.Stops) == 0 {
			in := p.insnAt(pc)
			if ok = p.runExclusively(t, sys.ByStep, nil, func(r *Regs) bool { return r.PC() != pc }); ok {
				p.fixStep(t, in.kind)
			}
		} else if temps, err := p.setTemps(c.Stops); err == nil {
			ok = p.runExclusively(t, sys.Free, temps, func(r *Regs) bool {
				c := p.where(r.PC())
				return !c.In || c.Boundary
			})
			p.clearTemps(temps)
		} else {
			p.clearTemps(temps)
		}
		if !ok || t.dbg.kept != nil || t.sig != 0 {
			return
		}
	}
}
