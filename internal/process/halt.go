package process

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// HaltAll stops all threads. Events that happen meanwhile are returned and not reported; threads that were
// only stopped are not among them. A thread that sleeps uninterruptibly stops before it executes anything
// (Threads lists them).
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
		p.execute(p.ctl.machine.Arrived(t))
	}
	if p.ctl.machine.HaltNow(t) {
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
		if a, b := list[i].dbg.Birth, list[j].dbg.Birth; a != b {
			return a < b
		}
		return list[i].TID < list[j].TID
	})
	return list
}

// Halt asks running threads to stop. Each of them reports StopHalted, or an event that comes first. Threads
// that are already stopped stay as they are.
func (p *Process) Halt(tids []int) error {
	return p.controlDo(func() error {
		for _, tid := range tids {
			t := p.threads.Get(tid)
			if t == nil || !p.threads.Listed(t) || t.Hold&threads.HoldDebug != 0 || t.State == threads.Exiting {
				continue
			}
			t.dbg.Leaves = true
			if t.State == threads.Stopped { // held for another reason
				p.debugger.execute(p.ctl.machine.Halted(t))
				continue
			}
			p.world.interrupt(t)
		}
		return nil
	})
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

// Thread describes one thread; only the number of a thread that has ended is known.
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

// ResumeThreads resumes threads. If an event happened to a thread while it was stopped, it is reported and
// the thread stays stopped. Threads that have ended are skipped.
func (p *Process) ResumeThreads(list []Resumption) error {
	return p.controlDo(func() error {
		var ready []*task
		for _, r := range list {
			t := p.threads.Get(r.TID)
			if t == nil || !p.threads.Listed(t) || t.Hold&threads.HoldDebug == 0 {
				continue
			}
			p.debugger.execute(p.ctl.machine.Prepare(t, r))
			ready = append(ready, t)
		}
		for _, t := range ready {
			if !p.threads.Has(t) {
				continue
			}
			do, stays := p.ctl.machine.Release(t)
			p.debugger.execute(do)
			if !stays {
				p.world.resume(t)
			}
		}
		return nil
	})
}
