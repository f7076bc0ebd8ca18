package jalon

import (
	"os"
	"time"

	"github.com/jalon-trace/jalon/internal/session"
)

// Target is what is traced: [Attach], [Command] or [System].
type Target struct {
	pid  int
	argv []string
	std  session.IO
}

// Attach is a running process. It must not be a child of this one: see [Command].
func Attach(pid int) Target { return Target{pid: pid} }

// Command is a program to start, found as a shell finds it. It is held at its first instruction
// until the tracepoints are armed. While it is traced, this process must not wait for any child
// (wait(2) with pid -1): that would take the tracer's events. Its standard streams are those of this process; see
// [Target.Streams].
func Command(argv ...string) Target {
	return Target{argv: argv, std: session.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}}
}

// Streams gives the program of [Command] other standard streams; nil is /dev/null.
func (t Target) Streams(in, out, err *os.File) Target {
	t.std = session.IO{In: in, Out: out, Err: err}
	return t
}

// System is the kernel, and every process where [KernelOptions.All] is set.
func System() Target { return Target{} }

// Options say what a trace does. The zero value of each field but Tracepoints is a sensible
// default.
type Options struct {
	Tracepoints []Tracepoint

	// Output, if not nil, gets the events instead of Events: see [Text], [JSON], [Discard].
	Output Output
	// Queue bounds the memory of events that wait for Events, bytes; 0: 64 MiB. Those that do
	// not fit are counted in Result.Dropped.
	Queue int

	Buffer      int           // bytes of ring a CPU; 0: 4 MiB
	StringLimit int           // bytes taken of a string; 0: 200
	Elements    int           // elements taken of p@n if n is known at the hit only; 0: 200
	StackLimit  int           // bytes of stack taken for $bt; 0: 8192
	MaxEvents   uint64        // ends the trace after so many events; 0: never
	Duration    time.Duration // ends the trace so long after it was armed; 0: never
	DebugDirs   []string      // of separate debug files; nil: /usr/lib/debug
	Pending     bool          // a place that is not found yet may come with a later library
	Kernel      KernelOptions
	// InProcess reaches all places in the program by code in its process: where no jump fits, by
	// an int3, which stops the thread at each hit, in place of a uprobe of the kernel.
	InProcess bool

	// Warn gets what the user should know, Log each step, Progress how far arming is. They are
	// called from the trace's own goroutine; each may be nil.
	Warn, Log func(text string)
	Progress  func(what string, done, of int)

	// Debug is for work on jalon itself.
	Debug Debug
}

// KernelOptions are about places that the kernel engine (eBPF) serves.
type KernelOptions struct {
	Places  bool   // places in programs too are uprobes of the kernel engine
	All     bool   // hits of every process count, not only those of the target
	Cgroup  uint64 // only processes of the cgroup of cgroup2 with this inode; 0: all
	Vmlinux string // the file with the kernel's debug information, for lines and local variables
	Cost    bool   // measure the time of the hits (bpf_stats)
	// Force arms a uprobe also where it cannot be shown that an instruction begins, and a
	// uretprobe that endangers the program.
	Force bool
}

// Debug shows and changes how hit programs are made.
type Debug struct {
	IR, Code   func(place, text string) // get the stages of compilation; may be nil
	NoOptimise bool                     // leaves the passes over the IR out
	Avoid      uint8                    // tactics not to use, as bits
	Started    time.Time                // when the time to armed begins; zero: with Start
	// OnPanic gets a panic on a goroutine of the trace, and must end the program; nil: it is not
	// recovered.
	OnPanic func(v any, stack []byte)
}

// defaults of Options.
const (
	defaultBuffer   = 4 << 20
	defaultLimit    = 200
	defaultStack    = 8192
	defaultQueue    = 64 << 20
	defaultElements = 200
)

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

func (o *Options) session() (session.Options, error) {
	tps, err := parse(o.Tracepoints)
	if err != nil {
		return session.Options{}, err
	}
	opt := session.Options{
		Tracepoints: tps,
		BufferSize:  orDefault(o.Buffer, defaultBuffer), StringLimit: orDefault(o.StringLimit, defaultLimit),
		RepeatLimit: orDefault(o.Elements, defaultElements), StackLimit: orDefault(o.StackLimit, defaultStack),
		MaxEvents: o.MaxEvents, Duration: o.Duration, DebugDirs: o.DebugDirs, Pending: o.Pending,
		NoUprobes: o.InProcess, NoOptimise: o.Debug.NoOptimise, Avoid: o.Debug.Avoid,
		Kernel: session.Kernel{
			All: o.Kernel.Places, Anyone: o.Kernel.All, Vmlinux: o.Kernel.Vmlinux, Cost: o.Kernel.Cost, Force: o.Kernel.Force, Cgroup: o.Kernel.Cgroup,
		},
		Warn: o.Warn, Log: o.Log, Progress: o.Progress,
		OnPanic: o.Debug.OnPanic, Started: o.Debug.Started,
	}
	opt.Dump.IR, opt.Dump.Code = o.Debug.IR, o.Debug.Code
	return opt, nil
}
