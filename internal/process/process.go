package process

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Config has the caller's callbacks and options. All functions are called on the tracer's goroutine: they
// must be quick, and while one runs no event of the process is handled. They may use the Process (such calls
// run in place). Nil functions are allowed.
type Config struct {
	// OnFault is asked at SIGSEGV and SIGBUS from a faulting access at pc. With ok
	// the thread goes on at newPC, and the program does not notice.
	OnFault func(tid int, sig int, pc uint64) (newPC uint64, ok bool)
	// OnClock is asked at SIGSEGV in a thread that may not read the time stamp counter. With
	// ok, pc is an rdtsc of the caller's: the thread gets tsc from it and goes on behind it.
	OnClock func(tid int, pc uint64) (tsc uint64, ok bool)
	// OnTrap is asked at an int3 at addr. With ok the thread goes on at newPC.
	OnTrap func(tid int, addr uint64) (newPC uint64, ok bool)
	// InCode reports whether a pc is in generated code, which profilers must not see.
	InCode func(pc uint64) bool
	// PCBack is asked before a synchronous fault of the program itself is
	// delivered: pc may be that of a displaced copy.
	PCBack func(pc uint64) (o Origin, ok bool)
	// OnSignal is asked when a signal ends the program with a core dump, or is about
	// to show the program a pc inside changed bytes. With hold the thread waits for
	// Resume(tid), meanwhile the caller puts those bytes back; see crash.go.
	OnSignal func(tid int, dies bool) (hold bool)
	// OnThread reports threads that are born, get their thread pointer, or die.
	OnThread func(ev ThreadEvent)
	// OnModules is called after ld.so changed its list of modules. With hold the
	// thread (still inside dlopen or the program's startup) waits for Resume(tid),
	// so that sites in the new module can be installed before its code runs.
	OnModules func(tid int) (hold bool)
	// OnExec is called when the process has executed another program: known addresses are not valid any more,
	// and all other threads have ended. With hold it waits at the first instruction for Resume(tid).
	OnExec func(tid int) (hold bool)
	// OnFork gives a new process with its own copy of the memory, stopped, for
	// the original bytes to be restored; it is detached from afterwards. A child
	// that shares the memory (vfork, posix_spawn) is not announced: it is traced
	// until it calls exec or exits.
	OnFork func(child *Stopped)
	// OnExit is called when the last thread is gone.
	OnExit func(st ExitStatus)
	// OnPanic is called at a panic on the tracer's goroutine, which is a bug, with its
	// stack. It must end jalon, which lets the process go; nil: the panic goes on.
	OnPanic func(v any, stack []byte)
	// Go runs the tracer, f, at the same time as its caller; nil: on a goroutine of
	// its own. The kernel calls f's thread the tracer (TracerPid).
	Go func(f func())
	// Control puts the process under run control; nil: it is traced only.
	Control *Control
	// OnTyped is called when a thread is given a SIGINT or SIGQUIT that was typed at the
	// program's terminal.
	OnTyped func()
	// Interrupt ends an Attach that is under way when it is closed; nil: never.
	Interrupt <-chan struct{}
}

// ThreadKind is what happened to a thread.
type ThreadKind uint8

// The kinds of ThreadEvent.
const (
	ThreadBorn  ThreadKind = iota // first seen
	ThreadMoved                   // its thread pointer became known or changed (libc's startup sets it)
	ThreadDied                    // runs no code of the program any more
)

// ThreadEvent reports a thread. Thread pointers are used again by later
// threads, hence the time: CLOCK_MONOTONIC in nanoseconds.
type ThreadEvent struct {
	Kind   ThreadKind
	TID    int
	FSBase uint64 // the thread pointer; 0 when not yet set
	Comm   string
	Time   int64
	Exits  bool // it has died, and is stopped at its exit: it has its memory still
	Leader bool // its number is the process's
}

// ExitStatus is how a process ended, as reported by wait(2).
type ExitStatus struct {
	Code     int         // exit status, when Signal is 0
	Signal   unix.Signal // the signal that ended it
	Core     bool        // a core was dumped
	Detached bool        // it did not end: we let it go
}

func (s ExitStatus) String() string {
	switch {
	case s.Detached:
		return "detached"
	case s.Signal != 0:
		return "killed by " + sys.SignalName(s.Signal)
	}
	return fmt.Sprintf("exited with status %d", s.Code)
}

// Process is a traced process. Its methods may be called from any goroutine;
// they are served one after the other by the tracer's goroutine.
type Process struct{ *tracer }

func (p *tracer) setPid(pid int) { p.pid, p.threads.PID = pid, pid }

// Pid returns the process id.
func (p *Process) Pid() int { return p.pid }

// Started reports whether jalon started the process (else it attached).
func (p *Process) Started() bool { return p.starter.child }

// Ended reports whether the process runs no code any more; Done may be closed later.
func (p *Process) Ended() bool { return procdir.Ended(p.pid) }

// Done is closed when the process has ended or was detached from.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the process to end or to be detached from.
func (p *Process) Wait() ExitStatus {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// do runs f on the tracer's goroutine; on it already, in place.
func (p *tracer) do(f func() error) error {
	if unix.Gettid() == p.tid {
		if p.threads.Finished {
			return ErrGone
		}
		return f()
	}
	var err error
	ran := make(chan struct{})
	select {
	case p.cmds <- func() { defer close(ran); err = f() }:
	case <-p.done:
		return ErrGone
	}
	<-ran // the loop runs every command it took
	return err
}

// Resume lets a thread go on that OnModules, OnExec or Start holds.
func (p *Process) Resume(tid int) error {
	return p.do(func() error {
		t := p.threads.Get(tid)
		if t == nil {
			return ErrGone
		}
		t.Hold &^= threads.HoldCaller
		p.world.resume(t)
		return nil
	})
}

// Stopped stops every thread, runs f on the tracer's goroutine, and lets all go
// on as they were. pause is how long the program stood still.
func (p *Process) Stopped(f func(*Stopped) error) (pause time.Duration, err error) {
	err = p.do(func() error {
		start := time.Now()
		defer func() { pause = time.Since(start) }()
		defer p.world.thaw()
		p.world.stops++
		if err := p.world.freeze(); err != nil {
			return err
		}
		s := &Stopped{p: p.tracer, sp: p.space}
		defer func() { s.sp = nil }()
		err := f(s)
		if s.code && !s.learned && (p.cfg.OnFault != nil || p.cfg.OnTrap != nil) {
			p.dispositions.learnActions()
		}
		if e := p.injector.End(); err == nil && e != nil {
			err = s.wrap("give a thread back", e)
		}
		return err
	})
	return pause, err
}

// Work is what the process has been stopped for so far.
type Work struct {
	Stops int // of all threads, by Stopped
	Calls int // system calls that were run in it
	Turns int // stops of the threads that ran them
}

// Work returns what the process has been stopped for.
func (p *Process) Work() (w Work, err error) {
	err = p.do(func() error {
		w.Stops = p.world.stops
		w.Turns, w.Calls = p.injector.Work()
		return nil
	})
	return w, err
}

// Kill ends the process with SIGKILL and waits for its end.
func (p *Process) Kill() error {
	err := p.do(func() error {
		p.children.killCloneChildren()
		return unix.Kill(p.pid, unix.SIGKILL)
	})
	if err != nil && !sys.Gone(err) && err != ErrGone {
		return &fail.Error{Op: fmt.Sprintf("kill process %d", p.pid), Err: err}
	}
	<-p.done
	return nil
}

// launch starts the tracer's goroutine, runs setup on it, and serves until the process is gone. The goroutine
// is locked to its thread, which ends with it, so no state of ptrace, wait or the robust list remains.
func launch(cfg Config, setup func(p *Process) error) (*Process, error) {
	p := &Process{newTracer(cfg)}
	ready := make(chan error, 1)
	start := cfg.Go
	if start == nil {
		start = onOwnThread
	}
	start(func() {
		defer p.panicked()
		runtime.LockOSThread()
		p.tid = unix.Gettid()
		p.waits.notify(true)
		resetPriority()
		err := setup(p)
		raisePriority() // not before: a program that is started would have this priority too
		if err != nil {
			p.abandon()
			ready <- err
			return
		}
		ready <- nil
		// Deferred: a callback that ends the goroutine must not leave others waiting.
		defer close(p.done)
		defer p.cleanup()
		p.loop()
	})
	if err := p.awaitReady(ready); err != nil {
		if cfg.Go == nil && !p.attacher.unwanted.Load() {
			p.awaitThread()
		}
		return nil, err
	}
	return p, nil
}

// onOwnThread runs f, which locks its goroutine to the thread, on a thread that ends with it. The main thread does
// not: Go's run-time system only parks it, and it would stay the tracer of what could not be detached.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		other := make(chan struct{})
		go func() {
			runtime.LockOSThread() // another one: this one is taken
			close(other)
			f()
		}()
		<-other
		runtime.UnlockOSThread()
	}()
}

// awaitThread waits until the tracer's thread has ended. Threads that could not be stopped for a detach are
// detached by the kernel then; until then, their stops would be reported to the caller's wait(2) too, if it is their
// parent.
func (p *Process) awaitThread() {
	for start := time.Now(); unix.Tgkill(unix.Getpid(), p.tid, 0) == nil && time.Since(start) < threadEnd; {
		time.Sleep(50 * time.Microsecond)
	}
}

// threadEnd is more than Go takes to end a thread.
const threadEnd = time.Second

// own is the nice value that jalon was started with.
var own = nice()

func nice() int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the system call gives 20 - nice
	if err != nil {
		return 0
	}
	return 20 - n
}

// resetPriority gives this thread jalon's own priority. It may have another one, as the tracer of an earlier
// process, and a program started now would inherit it.
func resetPriority() {
	if nice() != own {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, own) // a lower priority is never refused
	}
}

// raisePriority gives the tracer's thread a higher priority if that is permitted, because the program's
// threads wait for it. It runs for short periods only.
func raisePriority() {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20) // of this thread; EACCES: it waits for its turn as all do
}

// awaitReady waits for the end of setup. While the kernel delays an attachment, its goroutine cannot be
// interrupted: it is left behind and makes no further request (p.unwanted). The time limit is for one
// request, because thousands of threads on a busy machine take long, one after the other.
func (p *Process) awaitReady(ready <-chan error) error {
	look := time.NewTicker(stopGrace / 4)
	defer look.Stop()
	interrupt, patience := p.cfg.Interrupt, attachLimit
	request, since := p.attacher.seizing.Load(), time.Now()
	for {
		select {
		case err := <-ready:
			return err
		case <-interrupt:
			interrupt, patience = nil, stopGrace
			p.attacher.interrupted.Store(true)
		case <-look.C:
		}
		if now := p.attacher.seizing.Load(); now != request {
			request, since = now, time.Now()
		} else if now != 0 && time.Since(since) > patience {
			p.attacher.unwanted.Store(true)
			return errInExec(p.pid)
		}
	}
}

func (p *tracer) panicked() {
	if p.cfg.OnPanic == nil {
		return
	}
	if v := recover(); v != nil {
		p.cfg.OnPanic(v, debug.Stack())
	}
}
