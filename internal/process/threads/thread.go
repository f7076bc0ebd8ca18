package threads

import "golang.org/x/sys/unix"

// State is what a thread does, as far as is known.
type State uint8

// The states.
const (
	Starting State = iota // announced by its creator; its first stop is still to come
	Running               // runs, sleeps in a system call, or is group-stopped and listens
	Stopped               // in a ptrace-stop whose event was handled; resume lets it go
	Parked                // asked to stop while it sleeps uninterruptibly: no code of the program runs before it stops
	Exiting               // past PTRACE_EVENT_EXIT: runs no code of the program any more
)

func (s State) String() string {
	return [...]string{"starting", "running", "stopped", "parked", "exiting"}[s]
}

// Stop is the ptrace-stop that a stopped thread is in; it decides how it is resumed and whether a system
// call can be injected.
type Stop uint8

// The stops.
const (
	StopTrap   Stop = iota // PTRACE_EVENT_STOP with SIGTRAP: interrupted, or just born
	StopGroup              // PTRACE_EVENT_STOP with a stopping signal
	StopSignal             // signal-delivery-stop
	StopEvent              // clone, fork, vfork, exec: half way through that system call
	StopCall               // syscall-stop
)

// HoldSet is the reasons to keep a stopped thread stopped.
type HoldSet uint8

// The reasons.
const (
	HoldCaller    HoldSet = 1 << iota // Start, OnExec, OnModules: until Resume
	HoldVfork                         // until its child has left the shared memory
	HoldRepair                        // while its signal's action is put back
	HoldLate                          // until pending repairs of signal actions are done
	HoldDebug                         // stopped for the caller, until ResumeThreads
	HoldExclusive                     // until its exclusive step is made
)

// Thread is one traced thread.
type Thread struct {
	TID   int
	TGID  int // the table's PID, or that of a child that shares its memory
	State State
	Stop  Stop
	Sig   unix.Signal // to be delivered at the next resume
	Hold  HoldSet
	Asked bool // PTRACE_INTERRUPT was sent and no stop was seen since

	First      bool // the stop that is being handled is its first one
	Creator    int  // the thread that created it; 0 = not known
	Adopted    bool // it was seen before its creator's event
	VforkChild int  // for HoldVfork: the process whose exec or exit ends it
	VforkCopy  bool // it is in a vfork whose child has its own memory: behind this stop it sleeps until the child's exec or exit
	Died       bool // its death was reported
	Copy       bool // a forked child with its own memory, to be let go, unless it is a clone child
	CloneChild bool // a process that is shown as a thread of this one
	Leaving    bool // a Copy whose memory is being restored, or was
	Offered    bool // a child that is held for the caller to take or release
}

// Core makes a thread an entry of a table.
func (t *Thread) Core() *Thread { return t }

// Apart reports whether t is a forked child that is only to be let go.
func (t *Thread) Apart() bool { return t.Copy && !t.CloneChild }

// IsStopped reports whether t is stopped for the caller.
func (t *Thread) IsStopped() bool { return t.State == Stopped && t.Hold&HoldDebug != 0 }

// Report is a state change that wait(2) gave.
type Report struct {
	TID    int
	Kind   Kind
	Signal unix.Signal     // of SignalStop and GroupStop
	Status unix.WaitStatus // as wait(2) gave it
	TGID   int             // the process of a thread that is not known yet (see Table.Asks); 0: it is gone
}

// Kind is the kind of a report.
type Kind uint8

// The kinds. What is not listed among stops was not asked for (seccomp, vfork-done):
// OtherStop, after which the thread is simply resumed.
//
//	kind         wait status                     meaning                          what is done
//	Ended        exited, signaled                the thread does not exist any more
//	SignalStop   signal-delivery-stop            a signal is about to arrive      HandleSignal
//	CallStop     syscall-stop                    entry to or exit from a call     HandleCall
//	TrapStop     PTRACE_EVENT_STOP/TRAP          interrupted, or newly born       resume
//	GroupStop    PTRACE_EVENT_STOP/other         group-stop (SIGSTOP, ^Z)         PTRACE_LISTEN: as without us
//	CloneStop    clone                           a thread, or a process that      trace it
//	                                             shares the memory
//	ForkStop     fork                            a copy of the process            restore its bytes, let it go
//	             vfork                           child borrows the memory         trace it, parent waits for its exec or exit
//	ExecStop     exec                            another program                  forget everything
//	ExitStop     exit                            the thread runs no more          never wait for its stop again
const (
	Ended Kind = iota
	SignalStop
	CallStop
	TrapStop
	GroupStop
	CloneStop
	ForkStop
	ExecStop
	ExitStop
	OtherStop
)

// Parse reads a wait status.
func Parse(tid int, ws unix.WaitStatus) Report {
	r := Report{TID: tid, Status: ws, Kind: OtherStop}
	if ws.Exited() || ws.Signaled() {
		r.Kind = Ended
		return r
	}
	sig := unix.Signal(int(ws) >> 8 & 0xff)
	const sysgood = unix.SIGTRAP | 1<<7 // PTRACE_O_TRACESYSGOOD
	switch event := int(ws) >> 16; {
	case event == 0 && sig == sysgood:
		r.Kind = CallStop
	case event == 0:
		r.Kind, r.Signal = SignalStop, sig
	case event == unix.PTRACE_EVENT_STOP && sig == unix.SIGTRAP:
		r.Kind = TrapStop
	case event == unix.PTRACE_EVENT_STOP:
		r.Kind, r.Signal = GroupStop, sig
	case event == unix.PTRACE_EVENT_CLONE:
		r.Kind = CloneStop
	case event == unix.PTRACE_EVENT_FORK, event == unix.PTRACE_EVENT_VFORK:
		r.Kind = ForkStop
	case event == unix.PTRACE_EVENT_EXEC:
		r.Kind = ExecStop
	case event == unix.PTRACE_EVENT_EXIT:
		r.Kind = ExitStop
	}
	return r
}

// stops are the stops that kinds of reports mean.
var stops = map[Kind]Stop{
	SignalStop: StopSignal, CallStop: StopCall, TrapStop: StopTrap, GroupStop: StopGroup,
	CloneStop: StopEvent, ForkStop: StopEvent, ExecStop: StopEvent, ExitStop: StopEvent, OtherStop: StopEvent,
}
