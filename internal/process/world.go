package process

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
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
func (p *Process) freeze() error {
	p.frozen++
	start := time.Now()
	progress, looked, before := start, start, 0
	for {
		p.pump()
		if p.finished {
			return ErrGone
		}
		waiting := p.interruptAll()
		if len(waiting) == 0 {
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
	for _, t := range p.tasks {
		p.flushFault(t)
	}
	for _, t := range p.tasks {
		if p.member(t) && t.state != exiting {
			return nil
		}
	}
	return ErrGone // all are on their way out
}

// awaitSome waits until some of the threads may have stopped.
func (p *Process) awaitSome(waiting []*task) {
	if len(waiting) < many {
		p.sleep(nap)
		return
	}
	each := time.Duration(len(waiting)) * time.Microsecond
	sys.Pause(min(each, time.Millisecond))
	for _, t := range waiting {
		p.collectOne(t.tid)
	}
}

// interruptAll asks all that run to stop, and returns those that have not yet.
func (p *Process) interruptAll() (waiting []*task) {
	for _, t := range p.tasks {
		if t.apart() || t.state != running && t.state != starting {
			continue
		}
		p.interrupt(t)
		waiting = append(waiting, t)
	}
	return waiting
}

// park looks why threads do not stop.
func (p *Process) park(waiting []*task) {
	for _, t := range waiting {
		if t.state != running {
			continue
		}
		switch sys.ThreadState(t.tid) {
		case 'D':
			t.state = parked
		case 0, 'Z', 'X':
			t.state = exiting // killed; its end will be reported, or its leader's
			p.reportDied(t)
		}
	}
}

func (p *Process) stuck(waiting []*task) error {
	var list []string
	for _, t := range waiting {
		list = append(list, fmt.Sprintf("%d (state %c)", t.tid, sys.ThreadState(t.tid)|' '))
	}
	sort.Strings(list)
	return &fail.Error{
		Op:     fmt.Sprintf("stop process %d", p.pid),
		Err:    errors.New("these threads do not stop: " + strings.Join(list, ", ")),
		Remedy: "try again; a frozen cgroup must be thawed first",
	}

}

// thaw lets all threads go on.
func (p *Process) thaw() {
	_ = p.endInjection() // an error: that thread is dying
	if p.frozen == 1 && !p.finished {
		p.deliverShared()
	}
	p.frozen--
	if p.frozen > 0 || p.finished {
		return
	}
	for _, t := range p.tasks {
		if t.state == parked {
			t.state = running
		}
		p.resume(t)
	}
	if p.ctl != nil {
		p.queueExclusive()
	}
}

// deliverShared gives signals that came for the process while the world was
// stopped to one thread each. Resumed all at once, every thread would look for
// them, and calls that are never restarted would return EINTR in threads that
// then find nothing.
func (p *Process) deliverShared() {
	for range 64 {
		t := p.takerOfShared()
		if t == nil || p.deliver(t) != nil {
			return
		}
	}
}

// deliver takes a thread of a frozen world to the delivery-stop of a signal that waits
// for it. An error: it is dying.
func (p *Process) deliver(t *task) error {
	if err := sys.Cont(t.tid, 0); err != nil {
		return err
	}
	t.state = running
	ws, err := p.await(t)
	if err != nil {
		return err
	}
	p.handleStop(t.tid, ws) // frozen, it stays there
	return nil
}

// takerOfShared finds a thread that the kernel could give a pending signal of the
// process to, as the kernel does: the leader if it will have it.
func (p *Process) takerOfShared() (best *task) {
	var pending uint64
	for _, t := range p.tasks {
		if !p.member(t) || t.state != stopped || t.stop != stopTrap || t.hold != 0 {
			continue
		}
		if pending == 0 {
			if pending = pendingShared(t.tid); pending == 0 {
				return nil
			}
		}
		mask, err := sys.GetSigmask(t.tid)
		if err == nil && pending&^mask != 0 && (best == nil || t.tid == p.pid) {
			best = t
		}
	}
	return best
}
