package process

import (
	"sort"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// HaltAll stops all threads. What happened meanwhile is returned, not reported;
// threads that only were stopped are not mentioned. A thread that sleeps
// uninterruptibly stops before it executes anything (Threads lists them).
func (p *Process) HaltAll() (stops []Stop, err error) {
	err = p.controlDo(func() error {
		p.ctl.collect = &stops
		defer func() { p.ctl.collect = nil }()
		defer p.thaw()
		if err := p.freeze(); err != nil {
			return err
		}
		for len(p.queue) > 0 || len(p.late) > 0 {
			p.pump()
		}
		p.postponeExclusive()
		for _, t := range p.listedTasks() {
			p.haltNow(t)
		}
		return nil
	})
	return stops, err
}

// haltNow holds a thread of a frozen world.
func (p *Process) haltNow(t *task) {
	if t.state != stopped && t.state != parked || t.hold&holdDebug != 0 {
		return
	}
	if t.state == stopped {
		if p.inside(t) {
			p.runOut(t)
			if p.tasks[t.tid] != t || t.state != stopped {
				return
			}
		}
		t.hold &^= holdExclusive
		p.reportPending(t)
	}
	if t.hold&holdDebug == 0 {
		t.hold |= holdDebug
		t.dbg.step, t.dbg.leaves, t.dbg.halted = false, false, true
		p.noteFS(t)
	}
}

// listedTasks are the threads as the caller sees them, in the order of birth.
func (p *Process) listedTasks() []*task {
	var list []*task
	for _, t := range p.tasks {
		if p.listed(t) {
			list = append(list, t)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := list[i].dbg.birth, list[j].dbg.birth; a != b {
			return a < b
		}
		return list[i].tid < list[j].tid
	})
	return list
}

// Halt asks running threads to stop. For each StopHalted is reported, or what
// comes first. Threads that are stopped already stay as they are.
func (p *Process) Halt(tids []int) error {
	return p.controlDo(func() error {
		for _, tid := range tids {
			t := p.tasks[tid]
			if t == nil || !p.listed(t) || t.hold&holdDebug != 0 || t.state == exiting {
				continue
			}
			t.dbg.leaves = true
			if t.state == stopped { // held for another reason
				p.halted(t)
				continue
			}
			p.interrupt(t)
		}
		return nil
	})
}

// halted holds a thread that was asked to halt and has come to a stop that is not
// reported by itself.
func (p *Process) halted(t *task) {
	if !t.dbg.leaves || t.dbg.why != nil || t.hold&(holdExclusive|holdDebug) != 0 || t.sig != 0 {
		return
	}
	if t.stop == stopGroup && pendingFault(t.tid) {
		p.frozen++
		p.flushFault(t)
		p.frozen--
		if p.tasks[t.tid] != t || t.state != stopped || !t.dbg.leaves || t.dbg.why != nil || t.hold&holdExclusive != 0 {
			return
		}
	}
	still := t.hold&(holdCaller|holdVfork) != 0 // it would not go on to such a stop
	if still || (t.stop == stopTrap || t.stop == stopGroup) && !pendingFault(t.tid) {
		p.stopFor(t, Stop{Kind: StopHalted})
	}
}

// Threads lists the threads in the order of birth, without their names and CPUs, which
// are read from /proc.
func (p *Process) Threads() (list []ThreadInfo) {
	_ = p.do(func() error { // ErrGone: there are none
		for _, t := range p.listedTasks() {
			if t.state != exiting && !t.died {
				list = append(list, ThreadInfo{TID: t.tid, Core: -1, Stopped: t.isStopped()})
			}
		}
		return nil
	})
	return list
}

func (t *task) isStopped() bool { return t.state == stopped && t.hold&holdDebug != 0 }

// Thread describes one thread; of one that is gone there is nothing but its number.
func (p *Process) Thread(tid int) ThreadInfo {
	info := ThreadInfo{TID: tid, Core: -1}
	_ = p.do(func() error { // ErrGone: it is gone
		if t := p.tasks[tid]; t != nil && p.listed(t) {
			info.Core, info.Stopped = sys.LastCPU(tid), t.isStopped()
			if !t.cloneChild {
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
			t := p.tasks[r.TID]
			if t == nil || !p.listed(t) || t.hold&holdDebug == 0 {
				continue
			}
			p.prepare(t, r)
			ready = append(ready, t)
		}
		for _, t := range ready {
			if p.tasks[t.tid] != t {
				continue
			}
			t.hold &^= holdDebug
			if d := &t.dbg; len(d.pending) > 0 {
				why := d.pending[0]
				d.pending = d.pending[1:]
				p.stopFor(t, why)
				continue
			}
			p.resume(t)
		}
		return nil
	})
}

// prepare sets what a thread is to do when it goes on.
func (p *Process) prepare(t *task, r Resumption) {
	d := &t.dbg
	d.step, d.lo, d.hi, d.leaves, d.halted = r.Step, r.Lo, r.Hi, false, false
	if d.step || d.inner {
		p.beginStep(t)
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
func (p *Process) giveSignal(t *task, sig unix.Signal) {
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
	if t.state == stopped && t.stop == stopSignal && t.sig == 0 {
		p.deliverKept(t, give)
		return
	}
	give.unreported = false
	p.sendAgain(t, give)
}

// deliverKept delivers a signal in a signal-delivery-stop, whichever it is of.
func (p *Process) deliverKept(t *task, k kept) {
	if k.info.Signo != 0 {
		_ = sys.SetSiginfo(t.tid, &k.info) // ESRCH: dying
	}
	t.sig = k.sig
}

// sendAgain sends a signal to a thread that cannot be given it directly. It is
// recognised when it comes, and gets its Siginfo back.
func (p *Process) sendAgain(t *task, k kept) {
	if unix.Tgkill(t.tgid, t.tid, k.sig) == nil {
		t.dbg.made = append(t.dbg.made, k)
	}
}
