package process

import (
	"sort"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// HaltAll stops all threads. What happened meanwhile is returned, not reported;
// threads that only were stopped are not mentioned. A thread that sleeps
// uninterruptibly stops before it executes anything (Threads lists them).
func (p *Process) HaltAll() (stops []Stop, err error) {
	err = p.controlDo(func() error {
		p.ctl.collect = &stops
		defer func() { p.ctl.collect = nil }()
		defer p.world.thaw()
		if err := p.world.freeze(); err != nil {
			return err
		}
		for len(p.waits.queue) > 0 || len(p.waits.late) > 0 {
			p.waits.pump()
		}
		p.exclusive.postponeExclusive()
		for _, t := range p.debugger.listedTasks() {
			p.debugger.haltNow(t)
		}
		return nil
	})
	return stops, err
}

// haltNow holds a thread of a frozen world.
func (p *debugger) haltNow(t *task) {
	if t.State != threads.Stopped && t.State != threads.Parked || t.Hold&threads.HoldDebug != 0 {
		return
	}
	if t.State == threads.Stopped {
		if p.inside(t) {
			p.exclusive.runOut(t)
			if !p.threads.Has(t) || t.State != threads.Stopped {
				return
			}
		}
		t.Hold &^= threads.HoldExclusive
		p.reportPending(t)
	}
	if t.Hold&threads.HoldDebug == 0 {
		t.Hold |= threads.HoldDebug
		t.dbg.step, t.dbg.leaves, t.dbg.halted = false, false, true
		p.driver.noteFS(t)
	}
}

// listedTasks are the threads as the caller sees them, in the order of birth.
func (p *debugger) listedTasks() []*task {
	var list []*task
	for _, t := range p.threads.All() {
		if p.threads.Listed(t) {
			list = append(list, t)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := list[i].dbg.birth, list[j].dbg.birth; a != b {
			return a < b
		}
		return list[i].TID < list[j].TID
	})
	return list
}

// Halt asks running threads to stop. For each StopHalted is reported, or what
// comes first. Threads that are stopped already stay as they are.
func (p *Process) Halt(tids []int) error {
	return p.controlDo(func() error {
		for _, tid := range tids {
			t := p.threads.Get(tid)
			if t == nil || !p.threads.Listed(t) || t.Hold&threads.HoldDebug != 0 || t.State == threads.Exiting {
				continue
			}
			t.dbg.leaves = true
			if t.State == threads.Stopped { // held for another reason
				p.debugger.halted(t)
				continue
			}
			p.world.interrupt(t)
		}
		return nil
	})
}

// halted holds a thread that was asked to halt and has come to a stop that is not
// reported by itself.
func (p *debugger) halted(t *task) {
	if !t.dbg.leaves || t.dbg.why != nil || t.Hold&(threads.HoldExclusive|threads.HoldDebug) != 0 || t.Sig != 0 {
		return
	}
	if t.Stop == threads.StopGroup && pendingFault(t.TID) {
		p.threads.Frozen++
		p.world.flushFault(t)
		p.threads.Frozen--
		if !p.threads.Has(t) || t.State != threads.Stopped || !t.dbg.leaves || t.dbg.why != nil || t.Hold&threads.HoldExclusive != 0 {
			return
		}
	}
	still := t.Hold&(threads.HoldCaller|threads.HoldVfork) != 0 // it would not go on to such a stop
	if still || (t.Stop == threads.StopTrap || t.Stop == threads.StopGroup) && !pendingFault(t.TID) {
		p.stopFor(t, Stop{Kind: StopHalted})
	}
}

// Threads lists the threads in the order of birth, without their names and CPUs, which
// are read from /proc.
func (p *Process) Threads() (list []ThreadInfo) {
	_ = p.do(func() error { // ErrGone: there are none
		for _, t := range p.debugger.listedTasks() {
			if t.State != threads.Exiting && !t.Died {
				list = append(list, ThreadInfo{TID: t.TID, Core: -1, Stopped: t.IsStopped()})
			}
		}
		return nil
	})
	return list
}

func (t *task) IsStopped() bool { return t.State == threads.Stopped && t.Hold&threads.HoldDebug != 0 }

// Thread describes one thread; of one that is gone there is nothing but its number.
func (p *Process) Thread(tid int) ThreadInfo {
	info := ThreadInfo{TID: tid, Core: -1}
	_ = p.do(func() error { // ErrGone: it is gone
		if t := p.threads.Get(tid); t != nil && p.threads.Listed(t) {
			info.Core, info.Stopped = sys.LastCPU(tid), t.IsStopped()
			if !t.CloneChild {
				info.Name = sys.CommOf(tid)
			}
		}
		return nil
	})
	return info
}

// ResumeThreads lets threads go on. A stop that came while one was stopped is
// reported, and that thread stays. Threads that are gone are passed over.
func (p *Process) ResumeThreads(list []Resumption) error {
	return p.controlDo(func() error {
		var ready []*task
		for _, r := range list {
			t := p.threads.Get(r.TID)
			if t == nil || !p.threads.Listed(t) || t.Hold&threads.HoldDebug == 0 {
				continue
			}
			p.debugger.prepare(t, r)
			ready = append(ready, t)
		}
		for _, t := range ready {
			if !p.threads.Has(t) {
				continue
			}
			t.Hold &^= threads.HoldDebug
			if d := &t.dbg; len(d.pending) > 0 {
				why := d.pending[0]
				d.pending = d.pending[1:]
				p.debugger.stopFor(t, why)
				continue
			}
			p.world.resume(t)
		}
		return nil
	})
}

// prepare sets what a thread is to do when it goes on.
func (p *debugger) prepare(t *task, r Resumption) {
	d := &t.dbg
	d.step, d.lo, d.hi, d.leaves, d.halted = r.Step, r.Lo, r.Hi, false, false
	if d.step || d.inner {
		p.stepper.beginStep(t)
	}
	if len(d.pending) > 0 { // it stays: the signal too
		if r.Signal != 0 {
			p.sendAgain(t, kept{sig: r.Signal})
		}
		d.kept = nil
		return
	}
	p.giveSignal(t, r.Signal)
}

// giveSignal delivers a signal to a thread that goes on: the one that it is
// stopped with, or another.
func (p *debugger) giveSignal(t *task, sig unix.Signal) {
	d := &t.dbg
	k := d.kept
	d.kept = nil
	if sig == 0 {
		return
	}
	give := kept{sig: sig}
	if k != nil && k.sig == sig {
		give = *k
	} else if k != nil && unix.Signal(k.info.Signo) == sig {
		give.info = k.info // SetSiginfo gave it for this one
	}
	if t.State == threads.Stopped && t.Stop == threads.StopSignal && t.Sig == 0 {
		p.deliverKept(t, give)
		return
	}
	give.unreported = false
	p.sendAgain(t, give)
}

// deliverKept delivers a signal in a signal-delivery-stop, whichever it is of.
func (p *debugger) deliverKept(t *task, k kept) {
	if k.info.Signo != 0 {
		_ = sys.SetSiginfo(t.TID, &k.info) // ESRCH: dying
	}
	t.Sig = k.sig
}

// sendAgain sends a signal to a thread that cannot be given it directly. It is
// recognised when it comes, and gets its Siginfo back.
func (p *debugger) sendAgain(t *task, k kept) {
	if unix.Tgkill(t.TGID, t.TID, k.sig) == nil {
		t.dbg.made = append(t.dbg.made, k)
	}
}
