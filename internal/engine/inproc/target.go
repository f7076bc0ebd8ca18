package inproc

import (
	"errors"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// target is the process, while it runs the program whose code was read.
type target struct {
	report
	p     *process.Process
	fresh bool         // it has not run its own code yet
	execs atomic.Int32 // how often the program called exec
	image int32        // execs when its code was read
}

// look records that the present program's code is being read.
func (t *target) look() { t.image = t.execs.Load() }

// replaced reports whether the process has called exec since its code was read.
func (t *target) replaced() bool { return t.execs.Load() != t.image }

// stopped runs f with the world stopped, if the process still runs the program whose code was read.
func (t *target) stopped(f func(*process.Stopped) error) error {
	pause, err := t.p.Stopped(func(st *process.Stopped) error {
		if t.replaced() {
			return engine.ErrReplaced
		}
		return f(st)
	})
	if w, err := t.p.Work(); err == nil {
		t.logf("stopped for %v (%d stops so far, %d system calls run in %d turns)", pause, w.Stops, w.Calls, w.Turns)
	}
	if pause > 0 && t.opt.OnPause != nil {
		t.opt.OnPause(pause)
	}
	return err
}

// callable runs system calls in the process: all its threads are stopped, or one of them.
type callable interface {
	Maps() ([]process.Mapping, error)
	MapsWithHeap() ([]process.Mapping, error)
	Syscall(nr uint64, args ...uint64) (uint64, error)
	Syscalls(calls []process.Call) ([]process.CallResult, error)
	AllocNear(addr, size uint64) (uint64, error)
	Free(addr, size uint64) error
	FreeAll(list []process.Range) error
	Learn() (noClock bool, err error)
	PrepareFaultHandler(faults map[uint64]uint64) (*process.FaultHandler, error)
	DropFaultHandler(*process.FaultHandler) error
}

// borrowing is stopped for a function that only runs calls: threads run on, but for one.
func (t *target) borrowing(f func(callable) error) error {
	alone, err := t.p.Borrow(func(b *process.Borrowed) error {
		if t.replaced() {
			return engine.ErrReplaced
		}
		return f(b)
	})
	if errors.Is(err, process.ErrNoThread) {
		return t.stopped(func(st *process.Stopped) error { return f(st) })
	}
	if alone > 0 && t.opt.OnPause != nil {
		t.opt.OnPause(alone)
	}
	return err
}
