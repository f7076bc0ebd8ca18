package process

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// taskState is what a thread does, as far as we know.
type taskState uint8

const (
	starting taskState = iota // announced by its creator; its first stop is still to come
	running                   // runs, sleeps in a system call, or is group-stopped and listens
	stopped                   // in a ptrace-stop whose event was handled; resume lets it go
	parked                    // asked to stop while it sleeps uninterruptibly: no code of the program runs before it stops
	exiting                   // past PTRACE_EVENT_EXIT: runs no code of the program any more
)

// stopKind says which ptrace-stop a stopped thread is in; it decides how it is
// resumed and whether a system call can be injected.
type stopKind uint8

const (
	stopTrap   stopKind = iota // PTRACE_EVENT_STOP with SIGTRAP: interrupted, or just born
	stopGroup                  // PTRACE_EVENT_STOP with a stopping signal
	stopSignal                 // signal-delivery-stop
	stopEvent                  // clone, fork, vfork, exec: half way through that system call
	stopCall                   // syscall-stop; during an injection only
)

// Reasons to keep a stopped thread stopped.
type holdSet uint8

const (
	holdCaller    holdSet = 1 << iota // Start, OnExec, OnModules: until Resume
	holdVfork                         // until its child has left the shared memory
	holdRepair                        // while its signal's action is put back
	holdLate                          // until pending repairs of signal actions are done
	holdDebug                         // stopped for the caller, until ResumeThreads
	holdExclusive                     // until its exclusive step is made, see exclusive.go
)

// task is one traced thread.
type task struct {
	redirected redirection // what redirectBeforeWait did at the stop that is to be handled
	tid        int
	tgid       int // p.pid, or that of a child that shares its memory
	state      taskState
	stop       stopKind
	sig        unix.Signal // to be delivered at the next resume
	hold       holdSet
	asked      bool // PTRACE_INTERRUPT was sent and no stop was seen since

	leaving    bool         // OnFork has it, or had it
	last       int64        // when its last stop was handled, CLOCK_MONOTONIC
	asBorn     bool         // with all signals blocked, as libc does it: see inheritMask
	creator    int          // the thread that created it; 0 = not known
	adopted    bool         // it was seen before its creator's event
	hidden     hidden       // see restart.go
	again      *sys.Siginfo // what a profiler's signal was that is sent again, see profile.go
	child      int          // for holdVfork: the process whose exec or exit ends it
	newPC      uint64       // for a parked thread: to be set when it stops
	fs         uint64       // thread pointer, last known
	died       bool         // ThreadDied was reported
	fork       bool         // a forked child with its own memory, to be let go, unless it is a clone child
	cloneChild bool         // a process that is shown as a thread of this one, see clonechild.go
	dbg        stopState
}

// member reports whether t is a thread of the process itself.
func (p *Process) member(t *task) bool { return t.tgid == p.pid }

// listed reports whether t is shown as a thread of the process.
func (p *Process) listed(t *task) bool { return p.member(t) || t.cloneChild }

// apart reports whether t is a forked child that only passes through our hands.
func (t *task) apart() bool { return t.fork && !t.cloneChild }

// resume lets a stopped thread go on in the way its stop wants, unless the world
// is stopped or it is held.
func (p *Process) resume(t *task) {
	if t.state != stopped || t.hold != 0 || p.frozen > 0 {
		return
	}
	t.hidden.resumed(t.tid)
	var err error
	if t.stop == stopGroup {
		// The thread stays group-stopped, and still reports SIGCONT.
		err = sys.Listen(t.tid)
	} else {
		request := sys.Free
		if p.ctl != nil {
			request = p.request(t)
		} else if p.borrows(t) && powerless() {
			request = sys.ToCall
		}
		err = sys.Resume(t.tid, request, t.sig)
	}
	_ = err // ESRCH: it is dying, and its end will be reported
	t.state, t.sig = running, 0
}

// interrupt asks a running thread to stop. Its stop may be any: what comes first
// will do.
func (p *Process) interrupt(t *task) {
	if t.asked || t.state == stopped || t.state == exiting {
		return
	}
	t.asked = true
	if t.state == running || t.state == parked {
		_ = sys.Interrupt(t.tid) // ESRCH: dying
	}
}

// settle takes a stopped thread from any stop to PTRACE_EVENT_STOP without
// letting it run a single instruction: with the interrupt pending, it finishes
// the system call it is in, or builds the frame of the signal that it is given,
// and stops on its way back to the program.
func (p *Process) settle(t *task) error {
	for range 100 {
		if t.state != stopped {
			return sys.ErrThreadGone
		}
		if t.stop == stopTrap || t.stop == stopGroup {
			return nil
		}
		if t.hold&holdVfork != 0 {
			return errBusy
		}
		if err := sys.Interrupt(t.tid); err != nil {
			return err
		}
		if err := sys.Cont(t.tid, t.sig); err != nil {
			return err
		}
		t.state, t.sig, t.asked = running, 0, true
		ws, err := p.await(t)
		if err != nil {
			return err
		}
		p.frozen++ // the event is handled, the thread stays
		p.handleStop(t.tid, ws)
		p.frozen--
		if p.tasks[t.tid] != t {
			return sys.ErrThreadGone
		}
	}
	return errBusy
}
