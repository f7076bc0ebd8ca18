package process

import (
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// waited is a state change taken from the kernel.
type waited struct {
	tid int
	ws  unix.WaitStatus
}

func (p *waiter) notify(on bool) {
	if on {
		signal.Notify(p.sigchld, unix.SIGCHLD)
		return
	}
	signal.Stop(p.sigchld)
}

// loop handles events and commands until the process is gone. A program that
// produces events without end must not keep commands waiting.
func (p *tracer) loop() {
	for {
		more := p.waits.batch()
		if p.threads.Finished {
			return
		}
		if more {
			select {
			case f := <-p.cmds:
				f()
			default:
			}
			continue
		}
		select {
		case <-p.waits.sigchld:
		case f := <-p.cmds:
			f()
		}
	}
}

// pump handles everything that has happened and, if no thread is resumed because the
// world is stopped, comes to an end.
func (p *waiter) pump() {
	for p.batch() {
	}
}

// batch handles what has happened so far. Statuses are collected before they
// are handled: a thread that was resumed may stop again at once, and the
// kernel, which looks at its list from the start each time, would starve others.
func (p *waiter) batch() (any bool) {
	p.collect()
	any = len(p.queue) > 0 || len(p.late) > 0
	for len(p.queue) > 0 {
		w := p.queue[0]
		p.remove(0)
		p.driver.handleStop(w.tid, w.ws)
	}
	late := p.late
	p.late = nil
	for _, f := range late {
		f()
	}
	return any
}

// collect takes all state changes. Wait(-1) could take a child that is not
// ours: a child of another thread of jalon moves to this one when that thread
// ends. So look first, and take only what is known to be ours.
//
// A stop whose signal is left with the kernel (see take) hides the threads behind it. One
// that is about to be handled does not hide them for long: all are asked by number only
// once in a while, so that none starves behind a thread that gets signals all the time.
func (p *waiter) collect() {
	for {
		tid, ws := sys.PeekWait(0)
		switch {
		case tid == 0:
			return
		case !p.ours(tid), p.seen(tid, ws) && !p.isQueued(tid):
			p.collectKnown()
			return
		case p.seen(tid, ws):
			if time.Since(p.asked) > max(starves, 10*p.askTook) {
				p.collectKnown()
			}
			return
		}
		p.enqueue(tid, ws)
	}
}

// starves is how long a thread may be hidden behind another one that gets signals.
const starves = time.Millisecond

// collectKnown asks for each known thread, because one is first in the kernel's list that
// is not to be taken.
func (p *waiter) collectKnown() {
	start := time.Now()
	for _, tid := range p.threads.Numbers() {
		p.collectOne(tid)
	}
	p.asked = time.Now()
	p.askTook = p.asked.Sub(start)
}

// collectOne takes the state change of one thread, if there is one.
func (p *waiter) collectOne(tid int) {
	if got, ws := sys.PeekWait(tid); got != 0 && !p.seen(tid, ws) {
		p.enqueue(tid, ws)
	}
}

// enqueue takes a state change that was seen.
func (p *waiter) enqueue(tid int, ws unix.WaitStatus) {
	if ws, ok := p.take(tid, ws); ok {
		p.again(tid, ws)
	}
}

// take takes a state change that was seen. Where it is a signal that the program is to get,
// it is only seen: the kernel still has the signal (see sys.PeekWait), and delivers it should
// jalon be killed before the thread is resumed. A signal that is to be suppressed is taken,
// see drop.
func (p *waiter) take(tid int, ws unix.WaitStatus) (unix.WaitStatus, bool) {
	t := p.threads.Get(tid)
	if t != nil && sys.SignalStop(ws) {
		if t.left = p.signals.beforeTake(t); t.left {
			return ws, true
		}
	}
	return sys.Wait(tid)
}

// drop takes the signal of a thread's stop from the kernel: it is suppressed.
func (p *waiter) drop(t *task) {
	if !t.left {
		return
	}
	t.left = false
	if ws, ok := sys.Wait(t.TID); ok && !sys.SignalStop(ws) {
		p.again(t.TID, ws) // it was killed, and this is its end
	}
}

// seen reports whether a state change is one that was left with the kernel.
func (p *waiter) seen(tid int, ws unix.WaitStatus) bool {
	t := p.threads.Get(tid)
	return t != nil && sys.SignalStop(ws) && (t.queued || t.State == threads.Stopped)
}

func (p *waiter) isQueued(tid int) bool {
	t := p.threads.Get(tid)
	return t != nil && t.queued
}

// ours reports whether a thread is traced by this goroutine's thread: known, or a
// new one whose creator's event is still to come. The wait was limited to this
// thread's own (waitOwn), so a tracee found there is this thread's.
func (p *waiter) ours(tid int) bool {
	if p.threads.Knows(tid) {
		return true
	}
	st, err := sys.ReadStatus(tid)
	return err == nil && st.Tracer != 0
}

// spin is how long a state change is asked for before sleeping: a running thread
// that is interrupted stops within some 10 µs, and a wake-up by signal takes
// longer. Not longer, and no sched_yield: when all CPUs are busy the threads that
// we wait for want this one, and a thread that yields waits for a whole time slice.
const spin = 30 * time.Microsecond

// nap is the longest sleep while a thread is awaited; then /proc is looked at.
const nap = 20 * time.Millisecond

// await takes the next state change of t, which may be in the queue. Others that come are queued. ErrThreadGone: t has died.
func (p *waiter) await(t *task) (unix.WaitStatus, error) {
	return p.awaitUnless(t, func(byte) bool { return false })
}

// awaitUnless is await that gives errTimeout when late says so; it is asked again and
// again, with the state of the thread (proc(5)).
func (p *waiter) awaitUnless(t *task, late func(state byte) bool) (unix.WaitStatus, error) {
	for {
		// The queue first: a signal that is left with the kernel (see take) is reported again, and its entry in the queue
		// would later be taken for the stop of a thread that runs.
		if ws, ok := p.fromQueue(t); ok {
			if sys.Ends(ws) {
				return ws, sys.ErrThreadGone
			}
			return ws, nil
		}
		for start := time.Now(); ; {
			got, ws := sys.PeekWait(t.TID)
			if got == 0 {
				if time.Since(start) > spin {
					break
				}
				continue
			}
			if ws, ok := p.take(t.TID, ws); ok {
				if sys.Ends(ws) {
					p.again(t.TID, ws)
					return ws, sys.ErrThreadGone
				}
				return ws, nil
			}
		}
		// A dying leader reports only after all other threads were reaped.
		p.collect()
		if p.hasReport(t) {
			continue
		}
		s := sys.ThreadState(t.TID)
		if s == 0 || s == 'Z' || s == 'X' {
			return 0, sys.ErrThreadGone
		}
		if late(s) {
			return 0, errTimeout
		}
		p.sleep(nap)
	}
}

// fromQueue takes a report of t out of the queue, except that of its end, which stays.
func (p *waiter) fromQueue(t *task) (ws unix.WaitStatus, ok bool) {
	i := p.reportOf(t)
	if i < 0 {
		return 0, false
	}
	if ws = p.queue[i].ws; !sys.Ends(ws) {
		p.remove(i)
	}
	return ws, true
}

// reportOf is the index of t's first report in the queue, or negative.
func (p *waiter) reportOf(t *task) int {
	return slices.IndexFunc(p.queue, func(w waited) bool { return w.tid == t.TID })
}

func (p *waiter) hasReport(t *task) bool { return p.reportOf(t) >= 0 }

// sleep waits until a thread has a state change, but not for ever: one that goes to
// uninterruptible sleep reports nothing.
//
// It asks again and again, after naps that get longer. The kernel sends SIGCHLD, too, but
// the Go runtime hands signals on in another thread, which waits for its turn on a busy
// machine: programs were stopped for 20 ms because of that, where the tracer's own
// thread, which has a high priority, needs 0.1 ms.
func (p *waiter) sleep(limit time.Duration) {
	for start := time.Now(); !p.reports(); {
		slept := time.Since(start)
		switch {
		case slept >= limit:
			return
		case slept < longNap:
			sys.Pause(max(shortNap, slept/4))
		default: // others may need the CPU of this thread
			ts := unix.NsecToTimespec(int64(min(longNap, limit-slept)))
			_ = unix.Nanosleep(&ts, nil) // a signal ends it early
		}
	}
}

// The naps of sleep.
const (
	shortNap = 20 * time.Microsecond
	longNap  = time.Millisecond
)

// reports says whether a state change can be taken.
func (p *waiter) reports() bool {
	tid, ws := sys.PeekWait(0)
	if tid == 0 || (tid == p.pid || p.ours(tid)) && !p.seen(tid, ws) {
		return tid != 0
	}
	for tid := range p.threads.All() { // one that is not to be taken is first in the queue
		if got, ws := sys.PeekWait(tid); got != 0 && !p.seen(tid, ws) {
			return true
		}
	}
	return false
}

// cleanup ends the tracer's part after the last thread is gone.
func (p *tracer) cleanup() {
	p.waits.notify(false)
	p.deadman.disarm()
	p.space.Close()
}

// later has f done when the queue is empty.
func (p *waiter) later(f func()) { p.late = append(p.late, f) }

// again puts a report into the queue, also one that was taken before its time.
func (p *waiter) again(tid int, ws unix.WaitStatus) {
	p.queue = append(p.queue, waited{tid, ws})
	if t := p.threads.Get(tid); t != nil {
		t.queued = true
	}
}

// remove takes the ith report out of the queue.
func (p *waiter) remove(i int) {
	if t := p.threads.Get(p.queue[i].tid); t != nil {
		t.queued = false
	}
	if i == 0 {
		p.queue = p.queue[1:]
		return
	}
	p.queue = slices.Delete(p.queue, i, i+1)
}
