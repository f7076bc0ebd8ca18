package stub

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// ThreadID names a thread of a process; numbers are the system's.
type ThreadID struct{ PID, TID int }

// Thread is a thread of the target. A running thread cannot be read.
type Thread struct {
	ID      ThreadID
	Stopped bool
}

// ThreadFacts are what GDB's users see of a thread beside that.
type ThreadFacts struct {
	Name  string
	Extra string
	Core  int // that it ran on last; -1: not known
}

// StopKind is why a thread is stopped, or what ended.
type StopKind uint8

// The kinds of Stop.
const (
	StopSignal        StopKind = iota // Signal is about to be delivered
	StopHalted                        // it was asked to (Halt); no signal
	StopBreakpoint                    // a software breakpoint; pc is its address
	StopHardware                      // a hardware breakpoint; pc is its address
	StopWatch                         // a watchpoint of type Watch on the data at Addr
	StopStep                          // a single step, or a stepped range, is done
	StopForked                        // Child is a copy of the process; it is stopped
	StopVForked                       // Child borrows the memory; it is stopped
	StopVForkDone                     // the child of a vfork has left the memory
	StopExec                          // it runs Path now; its other threads are gone
	StopCloned                        // ThreadEvents: the thread is new
	StopSyscallEntry                  // Syscall is about to be made
	StopSyscallReturn                 // Syscall was made
	StopLibraries                     // unused by targets whose GDB watches ld.so itself
	StopThreadExit                    // ThreadEvents: the thread is gone, Code says how
	StopExited                        // the process is gone with Code
	StopKilled                        // the process is gone by Signal
	StopNoResumed                     // a thread has ended, and no other of its process runs
)

// Stop is something that happened to the target.
type Stop struct {
	Kind    StopKind
	Thread  ThreadID // PID only for StopExited and StopKilled
	Signal  int      // the system's number
	Addr    uint64
	Watch   rsp.BreakpointType
	Child   ThreadID
	Path    string
	Syscall int
	Code    int
}

// Resumption lets one stopped thread go on.
type Resumption struct {
	Thread ThreadID
	Step   bool
	// Lo and Hi: step as long as the pc is in [Lo, Hi); 0: one instruction.
	Lo, Hi uint64
	Signal int // the system's number; 0: none
}

// Breakpoint is a Z packet. Conditions and Commands are validated. It stops if any
// condition holds or cannot be evaluated, or if there is none.
type Breakpoint struct {
	Type       rsp.BreakpointType
	Addr       uint64
	Kind       int
	Conditions []*agentexpr.Expr
	Commands   []*agentexpr.Expr
	Persist    bool // the commands go on when GDB has left
}

// Options are the events that GDB has requested.
type Options struct {
	ForkEvents, VForkEvents, ExecEvents, ThreadEvents bool
	// PassSignals are delivered without a stop (the system's numbers).
	PassSignals map[int]bool
	// CatchSyscalls: report system calls; those in Syscalls, or all where it is empty.
	CatchSyscalls bool
	Syscalls      map[int]bool
	NonStop       bool
}

// LaunchOptions say how a program is started.
type LaunchOptions struct {
	Args            []string          // args[0] is the program
	Env             map[string]string // set
	Unset           []string
	Dir             string
	RandomAddresses bool // leave address space randomisation on
	ThroughShell    bool
}

// Caps are what the target can do.
type Caps struct {
	// Kernel: a target that is never stopped; it has no run control, and one thread
	// that represents it.
	Kernel bool
	// Multi: several processes; Attach and Launch work.
	Multi bool
	// Objects that qXfer reads: "auxv", "exec-file", "libraries-svr4", "siginfo",
	// "osdata", "memory-map".
	Objects []string
	// Writable objects: "siginfo".
	Writable []string
}

// ErrUnsupported: the target does not support the request.
var ErrUnsupported = errors.New("not supported by this target")

// Target is what GDB controls. All methods are called from the stub's goroutine
// and return soon; what takes time comes as a Stop on Events. Errors are shown to
// the user in words (ErrorText).
type Target interface {
	Caps() Caps
	SetOptions(Options)
	// Description is the target description; registers have its order.
	Description() *rsp.Target

	// Processes lists their ids.
	Processes() []int
	// Attached reports whether the process was there before us.
	Attached(pid int) bool
	// Launch starts a program and returns its first stop: at its first instruction,
	// nothing resumed. Attach stops a process; its first stop is StopHalted, or the
	// signal at which its first thread is stopped. Those of other threads are on Events.
	Launch(opt LaunchOptions) (Stop, error)
	Attach(pid int) (Stop, error)
	// Detach lets a process go, as it was. Kill ends it. No Stop follows.
	Detach(pid int) error
	Kill(pid int) error

	// Threads lists all threads, those of a process together, in the order of birth. It
	// is asked for with most packets.
	Threads() []Thread
	// Facts are those of a thread; of one that is gone, none.
	Facts(ThreadID) ThreadFacts
	// Resume lets stopped threads go on. Each later stops with a Stop, or ends. One
	// that is gone meanwhile is left out, and no error.
	Resume([]Resumption) error
	// Halt asks running threads to stop: StopHalted follows for each, or the stop
	// that comes first.
	Halt([]ThreadID) error
	// HaltAll stops all threads of all processes and returns when they are stopped, with
	// what happened meanwhile: those Stops, and no StopHalted. What was on Events is
	// delivered there still.
	HaltAll() ([]Stop, error)
	// Confirm reports whether a deferred stop is still valid: a breakpoint may have been
	// removed since, or the pc changed. An invalid one is dropped: its thread is stopped
	// without a reason, and Resume continues it from there.
	Confirm(Stop) bool
	// Ending reports whether a process is on its way out: its end will be on Events.
	Ending() bool
	// EndTold reports that GDB knows of the end of a process now. Until then a target may show the threads of
	// one that ended while it was stopped as they were.
	EndTold(pid int)
	// Events delivers stops. The channel has room for what happens between two calls:
	// a thread that Threads shows as stopped has its Stop in the channel already,
	// because the stub empties it before it resumes anything.
	Events() <-chan Stop

	// Registers of a stopped thread in the order of Description, bytes that are not
	// known marked as missing.
	Registers(ThreadID) (rsp.Registers, error)
	// SetRegisters writes all, SetRegister one, by its number.
	SetRegisters(ThreadID, []byte) error
	SetRegister(t ThreadID, number int, data []byte) error

	// ReadMemory fills b from addr, as the program has it (without our breakpoints
	// and jumps), and returns how many bytes could be read. Threads may run.
	ReadMemory(pid int, addr uint64, b []byte) (int, error)
	WriteMemory(pid int, addr uint64, b []byte) error

	// Insert inserts a breakpoint or watchpoint, again with other conditions.
	// ErrUnsupported: this type is not known here. Remove of what is not there is no
	// error.
	Insert(pid int, b Breakpoint) error
	Remove(pid int, typ rsp.BreakpointType, addr uint64, kind int) error

	// Object reads a whole object of Caps.Objects; WriteObject changes it.
	Object(t ThreadID, object, annex string) ([]byte, error)
	WriteObject(t ThreadID, object, annex string, offset uint64, data []byte) (int, error)
	// ThreadLocal finds thread-local data of the module with that struct link_map.
	ThreadLocal(t ThreadID, offset, linkMap uint64) (uint64, error)
	// Traced is called before each packet of a trace experiment with the process that GDB
	// has selected: tracepoints and variables are those of this process.
	Traced(pid int)
	// Offsets is by how much the program was moved from where its file says; ok is
	// false where GDB finds that out by itself.
	Offsets() (offset uint64, ok bool)
	// Files is the file system of a process (0: ours).
	Files(pid int) FileSystem
	// Monitor carries out a command of the user; ErrUnsupported: not known.
	Monitor(command string) (string, error)

	// Engine carries out trace experiments.
	Engine() experiment.Engine
	// Close lets all processes go: those that were attached to are detached, those
	// that were launched killed.
	Close() error
}

// FileSystem is what vFile packets use. Errors are unix.Errno.
type FileSystem interface {
	Open(path string, flags, mode uint64) (fd int, err error)
	Close(fd int) error
	Pread(fd int, b []byte, offset int64) (int, error)
	Pwrite(fd int, b []byte, offset int64) (int, error)
	Fstat(fd int) (rsp.Stat, error)
	Stat(path string) (rsp.Stat, error)
	Lstat(path string) (rsp.Stat, error)
	Unlink(path string) error
	Readlink(path string) (string, error)
}
