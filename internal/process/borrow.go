package process

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Borrowed is a process of which one thread is stopped to run system calls, while the others run. It is valid
// only during the call that it was given to, and only on that goroutine.
type Borrowed struct{ s *Stopped }

// Maps lists the memory of the process.
func (b *Borrowed) Maps() ([]Mapping, error) { return b.s.Maps() }

// MapsWithHeap is that of Stopped.
func (b *Borrowed) MapsWithHeap() ([]Mapping, error) { return b.s.MapsWithHeap() }

// ReadMem fills b from addr, or fails as a whole.
func (b *Borrowed) ReadMem(addr uint64, to []byte) error { return b.s.ReadMem(addr, to) }

// Syscall is that of Stopped.
func (b *Borrowed) Syscall(nr uint64, args ...uint64) (uint64, error) {
	v, err := b.s.Syscall(nr, args...)
	return v, b.gone(err)
}

// Syscalls is that of Stopped.
func (b *Borrowed) Syscalls(calls []Call) ([]CallResult, error) {
	list, err := b.s.Syscalls(calls)
	return list, b.gone(err)
}

// AllocNear is that of Stopped.
func (b *Borrowed) AllocNear(addr, size uint64) (uint64, error) {
	at, err := b.s.AllocNear(addr, size)
	return at, b.gone(err)
}

// Free is that of Stopped.
func (b *Borrowed) Free(addr, size uint64) error { return b.gone(b.s.Free(addr, size)) }

// FreeAll is that of Stopped.
func (b *Borrowed) FreeAll(list []Range) error { return b.gone(b.s.FreeAll(list)) }

// Learn is that of Stopped; Learned must then be called in the stop in which code is installed.
func (b *Borrowed) Learn() (noClock bool, err error) {
	noClock, err = b.s.Learn()
	return noClock, b.gone(err)
}

// PrepareFaultHandler is that of Stopped.
func (b *Borrowed) PrepareFaultHandler(faults map[uint64]uint64) (*FaultHandler, error) {
	f, err := b.s.PrepareFaultHandler(faults)
	return f, b.gone(err)
}

// DropFaultHandler is that of Stopped.
func (b *Borrowed) DropFaultHandler(f *FaultHandler) error { return b.gone(b.s.DropFaultHandler(f)) }

// gone returns the error of a call. The borrowed thread is the only one that is stopped: if it cannot be used any more, an
// exec of another thread, or the end of the process, has ended it. Other threads may still be on their way to their ends.
func (b *Borrowed) gone(err error) error {
	if errors.Is(err, inject.ErrNoneFree) {
		return ErrGone
	}
	return err
}

// ErrNoThread is the error of Borrow if no thread can be stopped in time, or calls cannot be run while others
// run: the caller can stop all.
var ErrNoThread = errors.New("no thread can be borrowed now")

// Borrow stops one thread, runs f on the tracer's goroutine, and lets the thread go on. The other threads run
// meanwhile, so f must not make calls whose effects they could take for their own (a descriptor that exists for
// a moment), nor change what they may execute. alone is how long the program stood still: that is so if it has no
// other thread.
//
// Events of other threads are handled afterwards: a thread that faults in generated code waits. If another thread
// calls exec, the kernel ends the borrowed one, or gives its number to the caller of exec; f gets ErrGone from its
// next call, and the event is handled as always.
func (p *Process) Borrow(f func(*Borrowed) error) (alone time.Duration, err error) {
	err = p.do(func() error {
		if p.ctl != nil {
			return ErrNoThread // its stops would be shown
		}
		start := time.Now()
		defer func() {
			if p.threads.Len() == 1 {
				alone = time.Since(start)
			}
		}()
		p.threads.Frozen++
		defer p.world.thaw()
		if err := p.world.borrow(); err != nil {
			return err
		}
		s := &Stopped{p: p.tracer, sp: p.space}
		defer func() { s.sp = nil }()
		err := f(&Borrowed{s})
		if e := p.injector.End(); err == nil && e != nil {
			err = s.wrap("give a thread back", e)
		}
		return err
	})
	return alone, err
}

// Limits of borrow.
const (
	candidates  = 8
	borrowLimit = 20 * time.Millisecond // a thread that is ready to run may wait for a CPU
)

// borrow stops a thread that can run calls: one that executes code if there is one, since calls that others sleep in
// would be interrupted. A thread that does not stop in time keeps its interrupt, and goes on when it has stopped.
func (p *world) borrow() error {
	if _, err := p.injector.Pick(p.space, nil); err == nil {
		return nil // one is stopped anyway
	}
	for _, t := range p.candidates() {
		p.interrupt(t)
		start := time.Now()
		ws, err := p.waits.awaitUnless(t, func(state byte) bool { return state == 'D' || time.Since(start) > borrowLimit })
		if err != nil {
			continue // its end is handled later
		}
		p.driver.handleStop(t.TID, ws) // it stays
		if p.threads.Finished {
			return ErrGone
		}
		if !p.threads.Has(t) || t.State != threads.Stopped {
			continue
		}
		p.flushFault(t)
		if _, err := p.injector.Pick(p.space, nil); err == nil {
			return nil
		}
	}
	return ErrNoThread
}

// candidates lists some threads that may be borrowed, those that execute code first.
func (p *world) candidates() (list []*task) {
	var asleep []*task
	for _, t := range p.threads.All() {
		if !p.threads.Member(t) || t.State != threads.Running || t.Asked || t.queued {
			continue
		}
		if sys.ThreadState(t.TID) == 'R' {
			list = append(list, t)
		} else {
			asleep = append(asleep, t)
		}
		if len(list) == candidates || len(list)+len(asleep) == 8*candidates {
			break
		}
	}
	list = append(list, asleep...)
	return slices.Clip(list[:min(len(list), candidates)])
}

// replacedBy keeps the report of an exec by which the borrowed thread got its end, or its number another thread.
func (p *waiter) replacedBy(t *task, ws unix.WaitStatus) bool {
	if sys.EventOf(ws) != unix.PTRACE_EVENT_EXEC {
		return false
	}
	p.again(t.TID, ws)
	return true
}
