package runcontrol

import (
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Thread is the run-control state of a thread.
type Thread struct {
	Birth  int
	Leaves bool   // asked to halt
	Step   bool   // for the user, until the pc leaves [Lo, Hi)
	Lo, Hi uint64 // of Step
	Inner  bool   // internal single steps: the caller is asked after each
	From   uint64 // the pc, as shown, where the present step began
	CopyAt uint64 // where in generated code the copy of the instruction at From is; 0: in the program itself
	Back   bool   // at CopyAt is no more than a jump to From
	Made   bool   // a step is made, and not looked at yet
	Armed  Armed  // the single step that it was resumed by
	Marked bool   // the kernel still has it as one that steps, without the flag: see Stopped

	Why     *Stop    // to be reported as soon as the thread's pc is a user address
	Pending []Stop   // came while it was stopped already: reported when it is resumed
	Kept    *Signal  // the signal of StopSignal, not delivered yet
	Sent    []Signal // sent again, to be recognised at their delivery
	Late    []Signal // came during the thread's exclusive step

	Over      uint64     // breakpoint to step over, exclusively; 0: none
	Exclusive *Exclusive // the exclusive step that it is making; nil: none
	Again     Again
	InCall    bool // run to the exit of the system call that it is in
	Gen       int  // of the watchpoints that it has

	Halted bool // stopped because it was asked to, or attached to
	Exited bool // StopThreadExit was reported
	Entry  bool // the last syscall-stop was that of an entry
}

// Control makes a thread part of an entry of a table.
func (d *Thread) Control() *Thread { return d }

// Armed is the single step by which a thread was resumed. It is active until its trap has arrived, or the
// thread is resumed without that trap pending.
type Armed struct {
	On   bool
	Insn InsnKind
	At   uint64 // the instruction's address
	Own  bool   // the program has set the trap flag itself
}

// Signal is a signal that was taken from a thread, to be delivered later.
type Signal struct {
	Sig        unix.Signal
	Info       sys.Siginfo
	Unreported bool // it was not reported yet
}

// Again is a breakpoint that a thread has hit without executing its instruction: when it reaches it again,
// that is the same hit.
type Again struct{ Addr, SP uint64 }

// Watch is the contents of a debug register.
type Watch struct {
	On   bool
	Kind WatchKind
	Addr uint64
	Size int
}

// WatchKind is what a debug register waits for.
type WatchKind uint8

// The kinds. The CPU has no watchpoints for reading only.
const (
	WatchExec WatchKind = iota // execution of the instruction at the address; size 1
	WatchWrite
	WatchAccess // reading or writing
)

// WatchSlots is the number of debug registers for addresses.
const WatchSlots = 4

// Entry is what a table holds of a thread.
type Entry interface {
	threads.Entry
	Control() *Thread
}

// Regs is what an event needs to see of a thread's registers.
type Regs struct {
	PC, SP   uint64
	Call     int64 // number of a system call
	Restarts bool  // the kernel is about to make an interrupted call again
	TrapFlag bool  // set by the program, as far as the kernel knows
}

// View is what an event can see. Nothing is changed by looking.
type View[T any] interface {
	// Regs are the registers; ok is false for a thread that is dying.
	Regs(t T) (r Regs, ok bool)
	// Where describes a pc in generated code.
	Where(pc uint64) Code
	// Insn is the instruction at an address.
	Insn(addr uint64) Insn
	// Waits reports whether a stopped thread has already executed an instruction that raised a signal,
	// which arrives after this stop.
	Waits(t T) bool
	// Int3 reports whether an int3 is at an address.
	Int3(addr uint64) bool
}

// Insn is an instruction as far as it matters to be single-stepped.
type Insn struct {
	Kind InsnKind
	Len  int
}

// InsnKind is the kind of an instruction.
type InsnKind uint8

// The kinds.
const (
	InsnOther InsnKind = iota
	InsnCall           // syscall, sysenter, int $0x80
	InsnPushf          // pushes the trap flag that we have set
	InsnPopf           // popf, iret: confuses the kernel about whose trap flag it is
	InsnRep            // a string instruction: one step is one iteration
)
