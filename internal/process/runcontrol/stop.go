package runcontrol

import "golang.org/x/sys/unix"

// BreakVerdict is the action for a thread at a breakpoint.
type BreakVerdict uint8

// The verdicts.
const (
	BreakStop BreakVerdict = iota // it stops, reported
	BreakGo                       // it executes the instruction and goes on
	BreakStep                     // as BreakGo, and the caller is asked after it
	BreakPast                     // the int3 below is not executed: it goes on behind it
)

// Code describes a pc in generated code.
type Code struct {
	In       bool   // the pc is in generated code
	Boundary bool   // it is exactly before the copy of a displaced instruction
	Orig     uint64 // Boundary: the address of that instruction in the program
	// Back: there is no copy at the boundary, but the jump back to Orig itself.
	Back bool
	// Stops are the boundaries that a thread inside reaches next without executing
	// an instruction of the program, or by finishing the present one. None: it is
	// led out by single steps.
	Stops []uint64
}

// StopKind is why a thread is stopped.
type StopKind uint8

// The kinds of Stop.
const (
	StopSignal        StopKind = iota // Signal is about to be delivered
	StopHalted                        // it was asked to
	StopBreakpoint                    // at the caller's breakpoint at Addr
	StopHardwareBreak                 // at the hardware breakpoint of Slot at Addr
	StopWatch                         // the data at Addr, watched by Slot, were accessed
	StopStep                          // the step, or the stepped range, is done
	StopForked                        // Child, a copy of the process, is stopped too
	StopVForked                       // Child, which shares the memory, is stopped too
	StopVForkDone                     // the child of a vfork has left the memory
	StopExec                          // it is another program, Path
	StopCloned                        // it is new
	StopSyscallEntry                  // it is about to make system call Syscall
	StopSyscallReturn                 // it has made system call Syscall
	StopThreadExit                    // it ends, with Code or by Signal; it is not held
	StopNoneRuns                      // it has ended, and all others are stopped; it is not held
)

// Stop reports a thread that is stopped.
type Stop struct {
	Kind    StopKind
	TID     int
	Signal  unix.Signal
	Addr    uint64
	Slot    int
	Child   int
	Path    string
	Syscall int
	Code    int
}

// Resumption resumes one thread.
type Resumption struct {
	TID int
	// Step: single-step. With Hi != 0 until the pc leaves [Lo, Hi).
	Step   bool
	Lo, Hi uint64
	// Signal is delivered; 0: none, also not the one that the thread is stopped with.
	Signal unix.Signal
}

// Options select the events of a process under run control at which a thread stops. Other events are
// handled as in a process without run control.
type Options struct {
	Forks, VForks, Execs bool
	Threads              bool // StopCloned and StopThreadExit
	// PassSignals are delivered without a stop, but to threads that step: a step
	// would end in the handler.
	PassSignals map[unix.Signal]bool
	// CatchSyscalls reports the calls in Syscalls; all of them where it is empty.
	CatchSyscalls bool
	Syscalls      map[int]bool
}
