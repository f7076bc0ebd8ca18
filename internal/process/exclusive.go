package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// The world is stopped for exclusive steps (see runcontrol.Exclusive) when all events are handled, once for
// all threads that wait for one. While the world is stopped for another reason the steps are not made: the
// threads wait until it continues.

// queueExclusive schedules the exclusive steps for when the queue of events is empty.
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
		if t.dbg.Over != 0 {
			p.stepOver(t)
		}
		if p.threads.Has(t) && t.State == threads.Stopped && p.debugger.inside(t) {
			p.runOut(t)
		}
		if p.threads.Has(t) && t.State == threads.Stopped {
			t.Hold &^= threads.HoldExclusive
			p.debugger.execute(p.ctl.machine.Arrived(t))
		}
	}
}

// postponeExclusive puts off the breakpoints to be stepped over: their threads stay before
// them, and come to the same hit again when they go on.
func (p *exclusive) postponeExclusive() {
	for _, t := range p.threads.PostponeExclusive() {
		p.ctl.machine.PutOff(t)
	}
}

// How long one instruction, or a hit program, may take before its thread is interrupted. A thread that sleeps
// waits for a page or is in a system call. A thread that is ready to run only waits for a CPU, and needs a
// few more instructions. Tests make them shorter.
var (
	exclusiveLimit = 200 * time.Millisecond
	readyLimit     = 30 * time.Second
)

var errTimeout = errors.New("timeout")

// runExclusively lets t run until its exclusive step is made, or ok is false: it was
// interrupted in between, or is gone.
func (p *exclusive) runExclusively(t *task, how sys.How, until runcontrol.Until, temps map[uint64]bool) (ok bool) {
	m := p.ctl.machine
	x := m.Exclude(t, how, until, temps)
	if x == nil {
		return false
	}
	defer m.Include(t) // after the other one
	defer func() {
		if x.Grouped() && p.threads.Has(t) && t.State == threads.Stopped {
			_ = p.world.settle(t) // back to the group-stop; an error: it is dying
		}
	}()
	for {
		how, sig, patient, do := m.ExclusiveGo(t)
		p.debugger.execute(do)
		if err := sys.Resume(t.TID, how, sig); err != nil {
			return false
		}
		t.State = threads.Running
		ws, late, err := p.awaitStop(t, patient)
		if err != nil {
			return false
		}
		p.driver.handleStop(t.TID, ws)
		if progress := m.ExclusiveStopped(t, late); progress != runcontrol.GoOn {
			return progress == runcontrol.Made
		}
	}
}

// awaitStop waits for the next stop of a thread, which is interrupted where it comes late,
// unless the caller is patient.
func (p *exclusive) awaitStop(t *task, patient bool) (ws unix.WaitStatus, late bool, err error) {
	if !patient {
		if ws, err = p.awaitSoon(t); err != errTimeout {
			return ws, false, err
		}
		p.world.interrupt(t)
		late = true
	}
	ws, err = p.waits.await(t)
	return ws, late, err
}

// awaitSoon is await with a time limit; errTimeout: the thread has not stopped in time.
func (p *exclusive) awaitSoon(t *task) (unix.WaitStatus, error) {
	start := time.Now()
	return p.waits.awaitUnless(t, func(state byte) bool {
		took := time.Since(start)
		return took > exclusiveLimit && (state == 'S' || state == 'D') || took > readyLimit
	})
}

// stepOver executes the instruction under a breakpoint.
func (p *exclusive) stepOver(t *task) {
	m := p.ctl.machine
	addr := t.dbg.Over
	var regs Regs
	orig, there := p.space.Breaks[addr]
	if sys.GetRegs(t.TID, &regs) != nil || regs.PC() != addr || !there || !m.Breaks[addr] {
		t.dbg.Over = 0 // moved, or the breakpoint was removed: it goes on from where it is
		return
	}
	in := p.stepper.insnAt(addr)
	if p.space.WriteRaw(addr, []byte{orig}) != nil {
		t.dbg.Over = 0 // the memory is gone
		return
	}
	ok := false
	switch in.Kind {
	case runcontrol.InsnCall:
		ok = p.enterCall(t)
	case runcontrol.InsnRep:
		ok = p.runTo(t, addr+uint64(in.Len))
	default:
		ok = p.runExclusively(t, sys.ByStep, runcontrol.OffInsn, nil)
	}
	if m.Breaks[addr] && p.space.Err() == nil {
		_ = p.space.WriteRaw(addr, []byte{memory.Int3}) // an error: the memory is gone
	}
	m.Overstepped(t, in.Kind, ok)
}

// enterCall takes a thread into the system call under a breakpoint; the call may
// sleep, and the others go on before it returns.
func (p *exclusive) enterCall(t *task) bool {
	t.dbg.InCall = true
	ok := p.runExclusively(t, sys.ToCall, runcontrol.InCall, nil)
	if !ok {
		t.dbg.InCall = false
	}
	return ok
}

// runTo runs a thread to a place by an int3 there.
func (p *exclusive) runTo(t *task, to uint64) bool {
	temps, err := p.setTemps([]uint64{to})
	defer p.clearTemps(temps)
	if err != nil {
		return false
	}
	return p.runExclusively(t, sys.Free, runcontrol.OffInsn, temps)
}

// setTemps writes temporary int3s at addresses that have none of ours.
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
		} else if !p.ctl.machine.Breaks[a] {
			continue // ld.so's, which is handled by itself
		}
		temps[a] = true
	}
	return temps, nil
}

func (p *exclusive) clearTemps(temps map[uint64]bool) {
	for a := range temps {
		if p.ctl.machine.Breaks[a] {
			continue
		}
		_ = p.space.WriteRaw(a, []byte{p.space.Breaks[a]}) // an error: the memory is gone
		delete(p.space.Breaks, a)
	}
}

// runOut leads a thread out of generated code, or to a boundary. If that takes too long (the thread sleeps
// there), it stays where it is.
//
// A thread may be led out in order to be shown with a signal that is already held back. A signal that arrives
// meanwhile ends the attempt.
func (p *exclusive) runOut(t *task) {
	kept := t.dbg.Kept
	for range 10_000 { // more than any hit program has instructions
		var regs Regs
		if !p.threads.Has(t) || t.State != threads.Stopped || sys.GetRegs(t.TID, &regs) != nil {
			return
		}
		c := p.ctl.machine.View.Where(regs.PC())
		if !c.In || c.Boundary || !p.leadOut(t, c.Stops) || t.dbg.Kept != kept || t.Sig != 0 {
			return
		}
	}
}

// leadOut leads a thread to the next boundary, or makes one step towards it.
func (p *exclusive) leadOut(t *task, stops []uint64) (ok bool) {
	if len(stops) == 0 {
		return p.runExclusively(t, sys.ByStep, runcontrol.OffInsn, nil)
	}
	temps, err := p.setTemps(stops)
	defer p.clearTemps(temps)
	return err == nil && p.runExclusively(t, sys.Free, runcontrol.OutOfCode, temps)
}
