package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
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
func (p *exclusive) needExclusive(t *task) {
	p.threads.NeedExclusive(t)
	p.queueExclusive()
}

// queueExclusive has the exclusive steps made when the queue of events is empty.
func (p *exclusive) queueExclusive() {
	if !p.ctl.exclusiveQueued && p.threads.ExclusiveDue() {
		p.ctl.exclusiveQueued = true
		p.waits.later(p.doExclusive)
	}
}

func (p *exclusive) doExclusive() {
	p.ctl.exclusiveQueued = false
	if !p.threads.ExclusiveDue() {
		return // thaw queues it again
	}
	defer p.world.thaw()
	_ = p.world.freeze() // stuck: better without than never; gone: nothing is left to do
	for {
		t, ok := p.threads.NextExclusive()
		if !ok {
			return
		}
		if t.dbg.over != 0 {
			p.stepOver(t)
		}
		if p.threads.Has(t) && t.State == threads.Stopped && p.debugger.inside(t) {
			p.runOut(t)
		}
		if p.threads.Has(t) && t.State == threads.Stopped {
			t.Hold &^= threads.HoldExclusive
			p.debugger.reportPending(t)
		}
	}
}

// postponeExclusive puts off the breakpoints to be stepped over: their threads stay before
// them, and come to the same hit again when they go on.
func (p *exclusive) postponeExclusive() {
	for _, t := range p.threads.PostponeExclusive() {
		t.dbg.putOff(t.TID)
	}
}

func (d *stopState) putOff(tid int) {
	var regs Regs
	if d.over != 0 && sys.GetRegs(tid, &regs) == nil {
		d.again = again{d.over, regs.SP()}
	}
	d.over = 0
}

// reportPending reports a stopped thread's pending events once its pc is a user address.
func (p *debugger) reportPending(t *task) {
	d := &t.dbg
	if d.stepDone {
		p.stepper.stepMade(t)
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
func (p *exclusive) runExclusively(t *task, req sys.How, temps map[uint64]bool, moved func(*Regs) bool) (ok bool) {
	d := &t.dbg
	d.exclusive = &exclusiveStep{temps: temps}
	defer func() { d.exclusive = nil }() // after the other one
	grouped, late := false, false
	defer func() {
		if grouped && p.threads.Has(t) && t.State == threads.Stopped {
			_ = p.world.settle(t) // back to the group-stop; an error: it is dying
		}
	}()
	sig := t.Sig
	for range 100 {
		how, fault := req, pendingFault(t.TID)
		if fault {
			how = sys.Free // see request
		} else if d.stepping = false; how == sys.ByStep && p.stepper.arm(t) == insnPopf && sig != 0 {
			d.stepping, t.Asked, how = false, true, sys.Free // see request
			_ = sys.Interrupt(t.TID)                         // ESRCH: dying
		}
		if err := sys.Resume(t.TID, how, sig); err != nil {
			return false
		}
		sig, t.Sig = 0, 0
		t.State = threads.Running
		var ws unix.WaitStatus
		var err error
		if fault { // it comes before any instruction; an interrupt would come before it
			ws, err = p.waits.await(t)
		} else {
			ws, err = p.awaitSoon(t)
		}
		if late = err == errTimeout; late {
			p.world.interrupt(t)
			ws, err = p.waits.await(t)
		}
		if err != nil {
			return false
		}
		p.driver.handleStop(t.TID, ws)
		var regs Regs
		if !p.threads.Has(t) || t.State != threads.Stopped || sys.GetRegs(t.TID, &regs) != nil {
			return false
		}
		grouped = grouped || t.Stop == threads.StopGroup // it goes on nevertheless until it is done
		if pendingFault(t.TID) {
			continue // the kernel reports the interrupt before the trap, which comes first of all now
		}
		if d.exclusive.done || moved(&regs) {
			return true
		}
		if t.Stop == threads.StopCall || late {
			return false
		}
	}
	return false
}

// awaitSoon is await; errTimeout: the thread is not at its end in time.
func (p *exclusive) awaitSoon(t *task) (unix.WaitStatus, error) {
	start := time.Now()
	return p.waits.awaitUnless(t, func(state byte) bool {
		took := time.Since(start)
		return took > exclusiveLimit && (state == 'S' || state == 'D') || took > readyLimit
	})
}

// stepOver executes the instruction under a breakpoint.
func (p *exclusive) stepOver(t *task) {
	d := &t.dbg
	addr := d.over
	var regs Regs
	orig, there := p.space.Breaks[addr]
	if sys.GetRegs(t.TID, &regs) != nil || regs.PC() != addr || !there || !p.ctl.user[addr] {
		d.over = 0 // moved, or the breakpoint was removed: it goes on from where it is
		return
	}
	in := p.stepper.insnAt(addr)
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
	}
	if p.ctl.user[addr] && p.space.Err() == nil {
		_ = p.space.WriteRaw(addr, []byte{memory.Int3}) // an error: the memory is gone
	}
	switch {
	case !p.threads.Has(t) || t.State != threads.Stopped:
	case !ok:
		d.putOff(t.TID)
	case in.kind != insnCall && d.kept == nil && t.Sig == 0:
		d.stepDone = true
	}
	d.over = 0
}

// enterCall takes a thread into the system call under a breakpoint; the call may
// sleep, and the others go on before it returns.
func (p *exclusive) enterCall(t *task) bool {
	d := &t.dbg
	d.call = true
	ok := p.runExclusively(t, sys.ToCall, nil, func(*Regs) bool { return t.Stop == threads.StopCall })
	if !ok {
		d.call = false
	}
	return ok
}

// callDone is the exit from such a call. One that the kernel is about to restart
// comes to the breakpoint again.
func (p *exclusive) callDone(t *task) {
	d := &t.dbg
	d.call = false
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return
	}
	if sys.Restarts(&regs) {
		d.again = again{regs.PC() - sys.SyscallLen, regs.SP()}
		return
	}
	d.stepDone = true
}

// runTo runs a thread to a place by an int3 there.
func (p *exclusive) runTo(t *task, to uint64, moved func(*Regs) bool) bool {
	temps, err := p.setTemps([]uint64{to})
	defer p.clearTemps(temps)
	if err != nil {
		return false
	}
	return p.runExclusively(t, sys.Free, temps, moved)
}

// setTemps writes int3s for the time being, where there is none of ours.
func (p *exclusive) setTemps(addrs []uint64) (map[uint64]bool, error) {
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

func (p *exclusive) clearTemps(temps map[uint64]bool) {
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
func (p *exclusive) runOut(t *task) {
	for range 10_000 { // more than any hit program has instructions
		var regs Regs
		if !p.threads.Has(t) || t.State != threads.Stopped || sys.GetRegs(t.TID, &regs) != nil {
			return
		}
		c := p.debugger.where(regs.PC())
		if !c.In || c.Boundary {
			return
		}
		pc := regs.PC()
		ok := false
		if len(c.Stops) == 0 {
			ok = p.runExclusively(t, sys.ByStep, nil, func(r *Regs) bool { return r.PC() != pc })
		} else if temps, err := p.setTemps(c.Stops); err == nil {
			ok = p.runExclusively(t, sys.Free, temps, func(r *Regs) bool {
				c := p.debugger.where(r.PC())
				return !c.In || c.Boundary
			})
			p.clearTemps(temps)
		} else {
			p.clearTemps(temps)
		}
		if !ok || t.dbg.kept != nil || t.Sig != 0 {
			return
		}
	}
}
