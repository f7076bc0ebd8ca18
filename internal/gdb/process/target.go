package process

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/internal/process"
)

// Options say how processes are started and where messages go.
type Options struct {
	Stdin, Stdout, Stderr *os.File // of programs that are launched; nil: /dev/null
	Terminal              *os.File // whose foreground programs are to be; nil: none
	// Wrapper is put in front of the arguments of programs that are launched.
	Wrapper []string
	// Output takes what agent printf prints.
	Output func(string)
	// Log takes what is done step by step; nil: it is dropped.
	Log       func(string)
	DebugDirs []string
	// BufferSize is that of the rings, bytes a CPU; 0: the default.
	BufferSize int
	NoOptimise bool // leave the IR passes out
	OnPanic    func(v any, stack []byte)
	// Go runs the tracer of each process; see process.Config.
	Go func(func())
}

// Target is processes under GDB's control. Its methods are called from one
// goroutine.
type Target struct {
	opt    Options
	regs   *registerFile
	events *eventQueue
	files  *fileTable
	engine *engine
	processes
	// stopped: no thread of any process runs.
	stopped bool
	remains // of stopped threads

	optionsMu sync.Mutex // other goroutines look there
	options   stub.Options
}

// proc is one process.
type proc struct {
	t        *Target
	p        *process.Process
	pid      int
	attached bool
	tracing  // what of the trace experiment is in it
	breaks   breakTable
	watches  watchTable
}

// New makes a target without a process.
func New(opt Options) (*Target, error) {
	t := &Target{opt: opt, events: newEventQueue(), files: newFileTable()}
	t.regs = newRegisterFile(rsp.TargetX86Linux(hostCPU()), hostXSAVE())
	t.files.writable = true // whoever may change a program's memory may change its files
	t.engine = newEngine(t)
	go t.pump()
	return t, nil
}

// Caps implements stub.Target.
func (t *Target) Caps() stub.Caps {
	return stub.Caps{
		Multi:    true,
		Objects:  []string{"auxv", "exec-file", "libraries-svr4", "siginfo", "osdata"},
		Writable: []string{"siginfo"},
	}
}

// Description implements stub.Target.
func (t *Target) Description() *rsp.Target { return t.regs.target }

// SetOptions implements stub.Target.
func (t *Target) SetOptions(o stub.Options) {
	t.optionsMu.Lock()
	t.options = o
	t.optionsMu.Unlock()
	for _, pr := range t.list() {
		_ = pr.p.SetOptions(t.controlOptions()) // an error: it is gone
	}
}

func (t *Target) controlOptions() process.ControlOptions {
	t.optionsMu.Lock()
	defer t.optionsMu.Unlock()
	o := process.ControlOptions{
		Forks: t.options.ForkEvents, VForks: t.options.VForkEvents, Execs: t.options.ExecEvents,
		Threads: t.options.ThreadEvents, CatchSyscalls: t.options.CatchSyscalls, Syscalls: t.options.Syscalls,
	}
	if len(t.options.PassSignals) > 0 {
		o.PassSignals = map[unix.Signal]bool{}
		for n := range t.options.PassSignals {
			o.PassSignals[unix.Signal(n)] = true
		}
	}
	return o
}

// drop forgets a process that is gone or let go.
func (t *Target) drop(pr *proc) {
	t.processes.remove(pr)
	t.engine.gone(pr)
}

// Launch implements stub.Target.
func (t *Target) Launch(opt stub.LaunchOptions) (stub.Stop, error) {
	var stop stub.Stop
	argv := append(append([]string(nil), t.opt.Wrapper...), opt.Args...)
	if len(opt.Args) == 0 {
		return stop, errors.New("no program was named")
	}
	argv = shellArgs(argv, opt.ThroughShell)
	pr := t.newProc()
	std := process.StartOptions{
		Env: environment(os.Environ(), opt.Env, opt.Unset), Dir: expandHome(opt.Dir, os.Getenv("HOME")),
		Stdin: t.opt.Stdin, Stdout: t.opt.Stdout, Stderr: t.opt.Stderr,
		Group: true, Terminal: t.opt.Terminal, FixedAddresses: !opt.RandomAddresses, DieWithUs: true,
	}
	if n := execsBefore(t.opt.Wrapper, opt.ThroughShell); n > 0 {
		pr.startup = make(chan report, 16)
	}
	p, err := process.Start(argv, std, pr.config())
	if err != nil {
		return stop, cannotExec(argv[0], err)
	}
	pr.start(p)
	if err := pr.passExecs(execsBefore(t.opt.Wrapper, opt.ThroughShell)); err != nil {
		return stop, err
	}
	t.add(pr)
	return stub.Stop{Kind: stub.StopSignal, Signal: int(unix.SIGTRAP), Thread: stub.ThreadID{PID: pr.pid, TID: pr.pid}}, nil
}

// passExecs lets the shell and the wrapper run until they have become the program.
func (pr *proc) passExecs(n int) error {
	if n == 0 {
		return nil
	}
	if err := pr.p.SetOptions(process.ControlOptions{Execs: true}); err != nil {
		return err
	}
	resume := process.Resumption{TID: pr.pid}
	for n > 0 {
		if err := pr.p.ResumeThreads([]process.Resumption{resume}); err != nil && !errors.Is(err, process.ErrGone) {
			return err
		}
		x := <-pr.startup
		resume.Signal = 0
		switch {
		case x.exit != nil && x.exit.Signal != 0:
			return fmt.Errorf("During startup program terminated with signal %s.", unix.SignalName(x.exit.Signal)) //nolint:staticcheck // gdbserver's words
		case x.exit != nil:
			return fmt.Errorf("During startup program exited with code %d.", x.exit.Code) //nolint:staticcheck // gdbserver's words
		case x.stop.Kind == process.StopExec:
			n--
		default:
			resume.Signal = x.stop.Signal
		}
	}
	pr.mu.Lock()
	pr.startup = nil
	pr.mu.Unlock()
	return pr.p.SetOptions(pr.t.controlOptions())
}

// execsBefore is the number of programs that run before the requested one: the shell and the wrapper each
// call exec.
func execsBefore(wrapper []string, shell bool) int {
	n := 0
	if shell {
		n++
	}
	if len(wrapper) > 0 {
		n++
	}
	return n
}

// Attach implements stub.Target.
func (t *Target) Attach(pid int) (stub.Stop, error) {
	var stop stub.Stop
	if _, err := t.find(pid); err == nil {
		return stop, fmt.Errorf("process %d is under control already", pid)
	}
	pr := t.newProc()
	pr.attached = true
	p, err := process.Attach(pid, pr.config())
	if err != nil {
		return stop, err
	}
	pr.start(p)
	t.add(pr)
	stop = stub.Stop{Kind: stub.StopHalted, Thread: stub.ThreadID{PID: pid, TID: pid}}
	for _, s := range p.First() {
		if s.TID == pid && stop.Kind == stub.StopHalted {
			stop = t.convert(report{pr: pr, stop: s})
			continue
		}
		t.events.put(report{pr: pr, stop: s})
	}
	return stop, nil
}

// Detach implements stub.Target.
func (t *Target) Detach(pid int) error {
	t.remains.forget(func(id stub.ThreadID) bool { return id.PID == pid })
	pr, err := t.find(pid)
	if err != nil {
		return err
	}
	t.engine.leave(pr)
	err = pr.p.Detach()
	t.drop(pr)
	if errors.Is(err, process.ErrGone) {
		return nil
	}
	return err
}

// Kill implements stub.Target.
func (t *Target) Kill(pid int) error {
	t.remains.forget(func(id stub.ThreadID) bool { return id.PID == pid })
	pr, err := t.find(pid)
	if err != nil {
		return err
	}
	pr.quiet.Store(true)
	err = pr.p.Kill()
	t.drop(pr)
	return err
}

// Close implements stub.Target.
func (t *Target) Close() error {
	var first error
	for _, pr := range t.list() {
		end := t.Kill
		if pr.attached {
			end = t.Detach
		}
		if err := end(pr.pid); err != nil && first == nil {
			first = err
		}
	}
	t.files.CloseAll()
	t.events.close()
	return first
}

// Threads implements stub.Target.
func (t *Target) Threads() []stub.Thread {
	defer t.flush()
	var list []stub.Thread
	for _, pr := range t.list() {
		if t.stopped && pr.p.Ending() {
			continue // the registers of its threads are gone, but for those that remain
		}
		for _, x := range pr.p.Threads() {
			list = append(list, stub.Thread{ID: stub.ThreadID{PID: pr.pid, TID: x.TID}, Stopped: x.Stopped})
		}
	}
	if t.stopped {
		list = append(list, t.remaining(list)...)
	}
	return list
}

// Events implements stub.Target.
func (t *Target) Events() <-chan stub.Stop { return t.events.out }

// Offsets implements stub.Target: GDB finds them out by auxv.
func (t *Target) Offsets() (uint64, bool) { return 0, false }
