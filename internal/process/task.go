package process

import (
	"errors"
	"time"

	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// task is one traced thread: what the table of threads knows of it, and what is to be known
// for handling its stops.
type task struct {
	threads.Thread
	redirected redirection  // what redirect did at the stop that is to be handled
	trap       trapMove     // its last move from an int3 of the caller
	queued     bool         // a report of it is in the waiter's queue
	left       bool         // the signal of its last stop is left with the kernel, see waiter.take
	handling   int          // stops of it that are being handled, one in the other
	last       int64        // when its last stop was handled, CLOCK_MONOTONIC
	asBorn     bool         // with all signals blocked, as libc does it: see inheritMask
	hidden     hidden       // see restart.go
	again      *sys.Siginfo // what a profiler's signal was that is sent again, see profile.go
	stack      handlerStack // see nesting.go
	newPC      uint64       // for a parked thread: to be set when it stops
	fs         uint64       // thread pointer, last known
	dbg        runcontrol.Thread
}

var errBusy = errors.New("the thread cannot run a system call now")

func newTask() *task { return &task{} }

// Control is the thread's state of run control.
func (t *task) Control() *runcontrol.Thread { return &t.dbg }

// resume lets a stopped thread go on in the way its stop requires, unless the world
// is stopped or it is held.
func (p *world) resume(t *task) {
	if !p.threads.MayResume(t) {
		return
	}
	if t.stack.given != 0 {
		_ = p.settle(t) // an error: it is dying, or goes on as it is
		if t.stack.given = 0; !p.threads.MayResume(t) {
			return
		}
	}
	t.hidden.resumed(t.TID)
	var err error
	if t.Stop == threads.StopGroup {
		// The thread stays group-stopped, and still reports SIGCONT.
		err = sys.Listen(t.TID)
	} else {
		request := sys.Free
		if p.ctl != nil {
			request = p.debugger.request(t)
		} else if p.children.borrows(t) && powerless() || t.holding() {
			request = sys.ToCall
		}
		err = sys.Resume(t.TID, request, t.Sig)
	}
	_ = err // ESRCH: it is dying, and its end will be reported
	p.threads.Resumed(t)
}

// interrupt asks a running thread to stop. Its stop may be any: what comes first
// will do.
func (p *world) interrupt(t *task) {
	if p.threads.Interrupt(t) {
		_ = sys.Interrupt(t.TID) // ESRCH: dying
	}
}

// settle takes a stopped thread from any stop to PTRACE_EVENT_STOP without
// letting it run a single instruction: with the interrupt pending, it finishes
// the system call it is in, or builds the frame of the signal that it is given,
// and stops on its way back to the program.
func (p *world) settle(t *task) error {
	for range 100 {
		if t.State != threads.Stopped {
			return sys.ErrThreadGone
		}
		if t.Stop == threads.StopTrap || t.Stop == threads.StopGroup {
			p.nesting.begun(t)
			return nil
		}
		if t.Hold&threads.HoldVfork != 0 || t.VforkCopy { // it would sleep in the kernel
			return errBusy
		}
		if err := sys.Interrupt(t.TID); err != nil {
			return err
		}
		if err := sys.Cont(t.TID, t.Sig); err != nil {
			return err
		}
		t.State, t.Sig, t.Asked = threads.Running, 0, true
		ws, err := p.waits.await(t)
		if err != nil {
			return err
		}
		p.threads.Frozen++ // the event is handled, the thread stays
		p.driver.handleStop(t.TID, ws)
		p.threads.Frozen--
		if !p.threads.Has(t) {
			return sys.ErrThreadGone
		}
	}
	return errBusy
}

// trapMove is how a thread was last moved from an int3 of the caller's to what runs there.
type trapMove struct {
	from, to uint64    // to: 0: it never was
	back     time.Time // when it was last taken back
}
