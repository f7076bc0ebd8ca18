package process

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// freezeLimit is how long no thread at all may stop while some are awaited. One that
// sleeps uninterruptibly is not waited for; any other needs microseconds, and its turn.
const freezeLimit = 10 * time.Second

// many is how many threads are awaited as a crowd: see freeze.
const many = 16

// freeze stops every thread that can run code in the process's memory. Until
// thaw, events are handled but no thread is resumed. Threads that cannot stop for
// the moment are parked: they sleep in the kernel, and the interrupt that is
// pending stops them before they come back.
//
// Threads by the thousand stop one after the other. To look at all that still run after
// each of them would take a time that grows with the square of their number:
//
//   - all are interrupted first, then awaited;
//   - as long as there are many, each of those is asked for by its number, and between two
//     rounds some time is left for others to stop;
//   - why threads do not stop is looked up in /proc only when for a nap none has.
func (p *world) freeze() error {
	p.threads.Frozen++
	start := time.Now()
	progress, looked, before := start, start, 0
	for {
		p.waits.pump()
		if p.threads.Finished {
			return ErrGone
		}
		waiting := p.interruptAll()
		if len(waiting) == 0 && !p.passVforks() {
			break
		}
		now := time.Now()
		if len(waiting) != before {
			progress, looked, before = now, now, len(waiting)
		}
		switch {
		case now.Sub(start) < spin:
			continue
		case now.Sub(progress) > freezeLimit:
			return p.stuck(waiting)
		case now.Sub(looked) > nap:
			p.park(waiting)
			looked = time.Now()
			continue
		}
		p.awaitSome(waiting)
	}
	for _, t := range p.threads.All() {
		p.flushFault(t)
	}
	if !p.threads.Lives() {
		return ErrGone // all are on their way out
	}
	return nil
}

// passVforks lets threads go on that are stopped in a vfork whose child has its own memory
// (CLONE_VFORK without CLONE_VM), and reports whether there were any. The child is let go
// even while the world is stopped. If it ends soon the thread stops where a call can be
// injected, else it is parked. An injected call, in contrast, would have to wait for the
// child, and the child for its first stop to be handled: a deadlock. Under run control the
// stop is shown, so the thread stays there.
func (p *world) passVforks() (any bool) {
	for _, t := range p.threads.All() {
		if !t.VforkCopy || t.State != threads.Stopped || t.Hold != 0 || p.ctl != nil {
			continue
		}
		t.VforkCopy = false
		if sys.Interrupt(t.TID) == nil && sys.Cont(t.TID, 0) == nil { // else it is dying
			t.State, t.Sig, t.Asked, any = threads.Running, 0, true, true
		}
	}
	return any
}

// awaitSome waits until some of the threads may have stopped.
func (p *world) awaitSome(waiting []*task) {
	if len(waiting) < many {
		p.waits.sleep(nap)
		return
	}
	each := time.Duration(len(waiting)) * time.Microsecond
	sys.Pause(min(each, time.Millisecond))
	for _, t := range waiting {
		p.waits.collectOne(t.TID)
	}
}

// interruptAll asks all that run to stop, and returns those that have not yet.
func (p *world) interruptAll() []*task {
	waiting := p.threads.Awaited()
	for _, t := range waiting {
		p.interrupt(t)
	}
	return waiting
}

// park looks why threads do not stop.
func (p *world) park(waiting []*task) {
	for _, t := range waiting {
		if t.State == threads.Running {
			p.driver.execute(p.threads.Sleeps(t, sys.ThreadState(t.TID)))
		}
	}
}

func (p *world) stuck(waiting []*task) error {
	var list []string
	for _, t := range waiting {
		list = append(list, fmt.Sprintf("%d (state %c)", t.TID, sys.ThreadState(t.TID)|' '))
	}
	sort.Strings(list)
	return &fail.Error{
		Op:     fmt.Sprintf("stop process %d", p.pid),
		Err:    errors.New("these threads do not stop: " + strings.Join(list, ", ")),
		Remedy: "try again; a frozen cgroup must be thawed first",
	}
}

// thaw lets all threads go on.
func (p *world) thaw() {
	_ = p.injector.End() // an error: that thread is dying
	if p.threads.Frozen == 1 && !p.threads.Finished {
		p.deliverShared()
	}
	if !p.threads.Thaw() {
		return
	}
	for _, t := range p.threads.All() {
		p.resume(t)
	}
	if p.ctl != nil {
		p.exclusive.queueExclusive()
	}
}

// deliverShared gives signals that came for the process while the world was
// stopped to one thread each. Resumed all at once, every thread would look for
// them, and calls that are never restarted would return EINTR in threads that
// then find nothing.
func (p *world) deliverShared() {
	for range 64 {
		t := p.takerOfShared()
		if t == nil || p.deliver(t) != nil {
			return
		}
	}
}

// deliver takes a thread of a frozen world to the delivery-stop of a signal that waits
// for it. An error: it is dying.
func (p *world) deliver(t *task) error {
	if err := sys.Cont(t.TID, 0); err != nil {
		return err
	}
	t.State = threads.Running
	ws, err := p.waits.await(t)
	if err != nil {
		return err
	}
	p.driver.handleStop(t.TID, ws) // frozen, it stays there
	return nil
}

// takerOfShared finds a thread that the kernel could give a pending signal of the
// process to, as the kernel does: the leader if it will have it.
func (p *world) takerOfShared() (best *task) {
	var pending uint64
	for _, t := range p.threads.All() {
		if !p.threads.Member(t) || t.State != threads.Stopped || t.Stop != threads.StopTrap || t.Hold != 0 {
			continue
		}
		if pending == 0 {
			if pending = pendingShared(t.TID); pending == 0 {
				return nil
			}
		}
		mask, err := sys.GetSigmask(t.TID)
		if err == nil && pending&^mask != 0 && (best == nil || t.TID == p.pid) {
			best = t
		}
	}
	return best
}
