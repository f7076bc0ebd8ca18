package jalon

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/session"
)

// Target is the program or system to trace: [Attach], [Command] or [System].
type Target struct {
	pid  int
	argv []string
	std  session.IO
}

// Attach traces a running process. It must not be a child of this process: see [Command].
func Attach(pid int) Target { return Target{pid: pid} }

// Command starts a program and traces it. The program is found as a shell finds it. It waits at its first
// instruction until the tracepoints are armed. While it is traced, this process must not wait for any child
// (wait(2) with pid -1): that would take the tracer's events. Its standard streams are those of this
// process; see [Target.Streams].
func Command(argv ...string) Target {
	return Target{argv: argv, std: session.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}}
}

// Streams sets the standard streams of the program of [Command]; nil is /dev/null.
func (t Target) Streams(in, out, err *os.File) Target {
	t.std = session.IO{In: in, Out: out, Err: err}
	return t
}

// System traces the kernel, and with [KernelOptions.All] every process.
func System() Target { return Target{} }

// Options configure a trace. The zero value of each field except Tracepoints is a sensible default.
type Options struct {
	Tracepoints []Tracepoint
	// Aggregate, if not nil, is computed at the hits of all tracepoints, in place of recording each; see [Result.WriteMaps].
	Aggregate *Aggregate

	// Own: a tracepoint without a collect list collects what its place has: the arguments at a function, the value at its
	// return, the arguments of a raw tracepoint. Patterns of names collect nothing.
	Own bool
	// Elapsed: at returns of functions of a program, Own has the time of the call too, in nanoseconds.
	Elapsed bool

	// Output, if not nil, gets the events instead of Events: see [Text], [JSON], [Discard].
	Output Output
	// Queue bounds the memory of the events that have not been read from Events, in bytes; 0: 64 MiB.
	// Events that do not fit are counted in Result.Dropped.
	Queue int

	Buffer int   // bytes of the ring of each CPU; 0: 4 MiB
	Clock  Clock // where the times of hits in the process come from
	// Overwrite keeps the newest events: where a ring is full, the oldest of its parts is overwritten. Events are shown by
	// [Trace.Snapshot] and at the end. It needs a clock.
	Overwrite bool
	// Wait is how long a hit in the process may wait for room in a full ring, counted from when the ring was last read: the program
	// becomes as slow as the output, and no event is lost while the output goes on. 0: hits without room are lost at once. The kernel
	// engine's hits never wait. It needs the TSC clock.
	Wait        time.Duration
	StringLimit int // bytes taken of a string; 0: 200
	Elements    int // elements taken of p@n if n is known only at the hit; 0: 200
	// StackFrames is how many frames of a program $bt follows at the hit; 0: 64. -1: it takes a copy of the
	// stack, of StackLimit bytes, which is followed later; places that only the kernel serves do so in processes without tables.
	StackFrames int
	// FramePointers makes $ubt at places in the kernel follow frame pointers, in place of taking a copy of the stack. It is
	// faster, reaches further in code without call frame information, and is wrong for code without frame pointers.
	FramePointers bool
	StackLimit    int           // bytes of stack taken for $bt; 0: 8192
	MaxEvents     uint64        // ends the trace after this number of events; 0: never
	Duration      time.Duration // ends the trace this long after it was armed; 0: never
	DebugDirs     []string      // of separate debug files; nil: /usr/lib/debug
	Pending       bool          // accept a place that is not found yet: it may be in a library loaded later
	Kernel        KernelOptions
	// InProcess reaches all places in the program by code inside its process. Where no jump fits, it uses
	// an int3, which stops the thread at each hit, instead of a uprobe of the kernel.
	InProcess bool

	// Warn receives warnings for the user, Log each step, Progress how far arming is. They are called on
	// the trace's own goroutine; each may be nil.
	Warn, Log func(text string)
	Progress  func(what string, done, of int)

	// OnArmed is called once, when the tracepoints are armed: before [Start] returns, and before a program of
	// [Command] begins. It must not wait for the trace. nil: no call.
	OnArmed func(*Trace)

	// Debug is for the development of jalon.
	Debug Debug
}

// Clock is where the times of hits come from that are recorded in the process. Those of the kernel engine are from
// CLOCK_MONOTONIC.
type Clock uint8

// The clocks.
const (
	TSC Clock = iota // the time stamp counter, most of what a record costs
	// Coarse is memory that this process writes the time to every millisecond. Times are too early by up to
	// Result.ClockError, and events of different CPUs may be out of order by as much.
	Coarse
	// NoClock records no times. Events of one CPU are in order, unless their threads do without restartable sequences.
	NoClock
)

// KernelOptions configure the kernel engine (eBPF).
type KernelOptions struct {
	Places bool // places in programs become uprobes of the kernel engine
	All    bool // trace every process, not only the target
	// NoFollow: places of the kernel are traced in the target only, not in the processes that it starts and their
	// descendants.
	NoFollow bool
	Cgroup   uint64 // only processes of the cgroup of cgroup2 with this inode; 0: all
	Vmlinux  string // the file with the kernel's debug information, for lines and local variables
	Cost     bool   // measure the time of the hits (bpf_stats)
	// Force also arms a uprobe at an address that is not proved to be the start of an instruction, and a
	// uretprobe that endangers the program.
	Force bool
}

// Debug shows and changes how hit programs are compiled.
type Debug struct {
	IR, Code   func(place, text string) // receive the stages of compilation; may be nil
	NoOptimise bool                     // skips the passes over the IR
	Avoid      uint8                    // tactics not to use, as bits
	Started    time.Time                // start of the time to armed; zero: the call of Start
	// OnPanic is called with a panic on a goroutine of the trace, and must end the program. If it is nil,
	// the panic is not recovered.
	OnPanic func(v any, stack []byte)
}

// Defaults of Options.
const (
	defaultBuffer   = 4 << 20
	defaultLimit    = 200
	defaultStack    = 8192
	defaultFrames   = 64
	defaultQueue    = 64 << 20
	defaultElements = 200
)

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// The limits of Options.Wait. Rings are read every few milliseconds.
const (
	MinWait = 50 * time.Millisecond
	MaxWait = time.Hour
)

// checkOverwrite refuses what cannot be together with Overwrite.
func (o *Options) checkOverwrite() error {
	switch {
	case o.Wait != 0 && (o.Wait < MinWait || o.Wait > MaxWait):
		return fmt.Errorf("hits may wait for room for %v to %v", MinWait, MaxWait)
	case o.Wait > 0 && o.Overwrite:
		return errors.New("where the oldest events are overwritten no hit waits for room")
	case o.Wait > 0 && o.Clock != TSC:
		return errors.New("hits can wait for room only with the clock tsc")
	}
	if !o.Overwrite {
		return nil
	}
	switch size := orDefault(o.Buffer, defaultBuffer); {
	case o.Clock == NoClock:
		return errors.New("the newest events need a clock, to be shown in order")
	case size > session.MaxOverwrite:
		return fmt.Errorf("a buffer of %d bytes: one whose oldest events are overwritten can have up to %d", size, session.MaxOverwrite)
	case o.MaxEvents != 0:
		return errors.New("a maximum number of events has no meaning for the newest events, which are shown at the end")
	}
	return nil
}

func (o *Options) session() (session.Options, error) {
	tps, err := parse(o.Tracepoints)
	if err != nil {
		return session.Options{}, err
	}
	for _, tp := range tps {
		tp.Own, tp.Elapsed = o.Own, o.Elapsed
	}
	vars := variablesOf(tps)
	if o.Aggregate != nil {
		if err := o.Aggregate.aggregated(tps); err != nil {
			return session.Options{}, err
		}
	}
	opt := session.Options{
		Tracepoints: tps, Variables: vars, Clock: session.Clock(o.Clock), Overwrite: o.Overwrite, Wait: o.Wait,
		BufferSize: orDefault(o.Buffer, defaultBuffer), StringLimit: orDefault(o.StringLimit, defaultLimit),
		RepeatLimit: orDefault(o.Elements, defaultElements), StackLimit: orDefault(o.StackLimit, defaultStack),
		StackFrames:   max(0, orDefault(o.StackFrames, defaultFrames)),
		FramePointers: o.FramePointers,
		MaxEvents:     o.MaxEvents, Duration: o.Duration, DebugDirs: o.DebugDirs, Pending: o.Pending,
		NoUprobes: o.InProcess, NoOptimise: o.Debug.NoOptimise, Avoid: o.Debug.Avoid,
		Kernel: session.Kernel{
			Follow: !o.Kernel.NoFollow, All: o.Kernel.Places || !o.InProcess && !host.Processor.CanDecode, Anyone: o.Kernel.All, Vmlinux: o.Kernel.Vmlinux, Cost: o.Kernel.Cost, Force: o.Kernel.Force, Cgroup: o.Kernel.Cgroup,
		},
		Warn: o.Warn, Log: o.Log, Progress: o.Progress,
		OnPanic: o.Debug.OnPanic, Started: o.Debug.Started,
	}
	if err := o.checkOverwrite(); err != nil {
		return session.Options{}, err
	}
	opt.Dump.IR, opt.Dump.Code = o.Debug.IR, o.Debug.Code
	return opt, nil
}
