package session

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Options configure a session.
type Options struct {
	Tracepoints []*tracepoint.Tracepoint
	Variables   *tracepoint.Variables // trace state variables; nil: none
	NewSink     func(*Session) drain.Sink
	BufferSize  int // bytes of the ring of each CPU
	Clock       Clock
	// Overwrite: the oldest records are overwritten, and shown by Snapshot and at the end.
	Overwrite bool
	// Wait is how long a hit may wait for room in a ring behind the reader's last progress; 0: it is lost at once.
	Wait        time.Duration
	StringLimit int // bytes of a string that are recorded
	RepeatLimit int // elements of p@n with a run-time n
	StackLimit  int // bytes of stack recorded for $bt
	StackFrames int // frames that $bt follows at the hit; 0: it records the stack
	// FramePointers: $ubt follows them at places in the kernel.
	FramePointers bool
	MaxEvents     uint64
	DebugDirs     []string // of separate debug files; nil = /usr/lib/debug
	NoOptimise    bool     // skip the IR passes (to find errors in them)
	Avoid         uint8    // tactics of package patch not to use, as bits
	Kernel        Kernel
	NoUprobes     bool // where no jump fits, use an int3, never a uprobe of the kernel
	// Strict: a site at which something cannot be collected is left out; otherwise the field has the reason.
	Strict  bool
	Pending bool // a place that is not found yet may be in a library loaded later
	// ThreadEnded is called for each map of the process when a thread has ended; it may be nil. It must be quick, and is on another
	// goroutine than the session's.
	ThreadEnded func(th event.Thread, thread uint64, name string, r *maps.Reader)
	// Warn receives warnings, Log each step, Dump the stages of compilation; each may be nil.
	Warn, Log func(string)
	Dump      Dumper
	// Progress is called with the progress of arming; nil is allowed.
	Progress func(what string, done, of int)
	// OnArmed is called when the first arming is over, with the error that ends the session if there is
	// one, and again at the end of Run, with ErrEnded; nil is allowed.
	OnArmed func(error)
	// Unshared is called with the reason if the process cannot have the kernel's memory of maps that sites of both engines use (sema.Map.Both). It
	// changes the tracepoints so that none is left. Its error ends the session. Nil: that is an error.
	Unshared func(error) error
	// OnIterated is called when the programs of iterators have run for all objects. It may be nil.
	OnIterated func()
	// Tend is called every few milliseconds on the session's goroutine while the session runs. It may be nil.
	Tend func()
	// OnTyped is called on the tracer's goroutine when the program receives a signal from its terminal; nil
	// is allowed.
	OnTyped func()
	// OnPanic is called with a panic on a goroutine of jalon and must end jalon.
	OnPanic func(v any, stack []byte)
	Started time.Time // of jalon itself, for Result.Armed
	// Interrupt, when closed, ends an Attach that is in progress; nil: never.
	Interrupt <-chan struct{}
	// Process: one process is traced, so that returns of functions are places in it.
	Process bool
	// Duration ends the session this long after it was armed; 0: never.
	Duration time.Duration
}

// MaxOverwrite is the largest BufferSize with Overwrite.
const MaxOverwrite = ring.MaxOverwrite

// Clock is where the time stamps of records of the process come from.
type Clock = ring.Clock

// Kernel configures the use of the kernel engine. Places of the kernel always use it; with All, places in
// programs use it too.
type Kernel struct {
	All     bool   // places in programs become uprobes, for all processes or for one
	Follow  bool   // places of the kernel are traced in descendants of the process too
	Anyone  bool   // hits of all processes are shown, also if one is named or started
	Counted bool   // timers and counters are limited to the process and its descendants, uprobes to the process, also with Anyone
	Cgroup  uint64 // only in this cgroup
	Vmlinux string // debug information of the kernel; without a traced process, FILE:LINE is a line of the kernel
	Cost    bool   // measure the time of hits
	Force   bool   // as in kernel.Options
}

// Session traces one process, or the kernel, or both. It is used from one goroutine, except for the methods
// that allow any.
type Session struct {
	*report
	*names
	opt      Options
	subject  subject
	launched bool
	mine     *arming.Process
	kern     *arming.Kernel
	records  *arming.Records
	state    state
	post     *post
	request  *request // the request of effServe and effRefuse
	numbers  int      // the largest tracepoint number so far
	coarse   *event.CoarseClock
	pauses   []time.Duration
	// pausesToArmed is how many of them were before the first sites were armed.
	pausesToArmed int
	armed         time.Duration
	corrected     bool // sites in the process compute the time with ring.ClockVariable
	tables        tables
	started       time.Time
	endAsked      bool      // the user has ended the session or its time is over
	endsAt        time.Time // Options.Duration after the arming; zero: never
	err           error
}

// IO has the standard streams of a launched program.
type IO struct{ In, Out, Err *os.File }

// Launch starts a program and stops it at its first instruction.
func Launch(argv []string, std IO, opt Options) (*Session, error) {
	s, cfg, trace, err := newSession(opt, true)
	if err != nil {
		return nil, err
	}
	streams := process.StartOptions{Stdin: std.In, Stdout: std.Out, Stderr: std.Err}
	if s.kernelOnly() {
		s.subject.held, err = process.StartHeld(argv, streams)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	p, err := process.Start(argv, streams, cfg)
	if err != nil {
		return nil, err
	}
	s.trace(p, trace)
	return s, nil
}

// Attach traces a running process.
func Attach(pid int, opt Options) (*Session, error) {
	s, cfg, trace, err := newSession(opt, false)
	if err != nil {
		return nil, err
	}
	p, err := process.Attach(pid, cfg)
	if err != nil {
		return nil, err
	}
	s.trace(p, trace)
	return s, nil
}

// Watch traces only by the kernel engine: all processes, or the process pid if that is not 0. That process
// is not stopped or changed. The session ends when the process ends.
func Watch(pid int, opt Options) (*Session, error) {
	opt.Kernel.All = true
	s, _, _, err := newSession(opt, false)
	if err != nil || pid == 0 {
		return s, err
	}
	if s.subject.watched, err = process.Watch(pid); err != nil {
		return nil, err
	}
	return s, nil
}

// trace sets the process that is traced.
func (s *Session) trace(p *process.Process, trace func(*process.Process)) {
	s.subject.p, s.mine.Process = p, p
	trace(p)
}

func newSession(opt Options, launched bool) (*Session, process.Config, func(*process.Process), error) {
	if err := procdir.Own(); err != nil {
		return nil, process.Config{}, nil, err
	}
	clock, err := event.NewClock()
	if err != nil {
		return nil, process.Config{}, nil, err
	}
	if err := opt.numberVariables(); err != nil {
		return nil, process.Config{}, nil, err
	}
	mine, kernel := split(&opt)
	s := &Session{opt: opt, started: time.Now(), launched: launched, post: newPost()}
	if s.opt.Started.IsZero() {
		s.opt.Started = s.started
	}
	s.report = &report{opt: &s.opt, rate: clock.Rate, moment: sync.OnceValue(func() *sema.Moment { return momentOf(clock) })}
	s.records = &arming.Records{
		Clock: clock, Threads: event.NewThreads(), Max: opt.MaxEvents,
		Begin: func() drain.Sink { return opt.NewSink(s) },
	}
	c := arming.Config{Pending: opt.Pending, Warn: s.warn, Compiling: s.compiling, Interrupted: s.interrupted}
	s.mine = &arming.Process{Config: c, Tracepoints: arming.Track(mine), Records: s.records, Settle: s.poll}
	s.kern = &arming.Kernel{Config: c, Tracepoints: arming.Track(kernel), Records: s.records, OnRings: s.opt.setVariables}
	s.names = &names{clock, s.mine, s.kern}
	cfg, trace := s.makeEngines()
	return s, cfg, trace, nil
}

// momentOf is a moment of a clock.
func momentOf(c *event.Clock) *sema.Moment {
	now := event.TSC()
	return &sema.Moment{Ticks: now, NS: uint64(c.Mono(now)), Rate: c.Rate()}
}

// OnlyKernel reports whether all places belong to the kernel engine.
func (o *Options) OnlyKernel() bool {
	mine, _ := split(o)
	return len(mine) == 0
}

// split returns the tracepoints of the process and those of the kernel engine.
func split(opt *Options) (process, kernel []*tracepoint.Tracepoint) {
	for _, tp := range opt.Tracepoints {
		if opt.inKernel(tp) {
			kernel = append(kernel, tp)
		} else {
			process = append(process, tp)
		}
	}
	return process, kernel
}

// inKernel reports whether a tracepoint belongs to the kernel engine.
func (o *Options) inKernel(tp *tracepoint.Tracepoint) bool {
	p := tp.Place
	uprobe := (o.Kernel.All || tp.Kernel) && p.Kind.Find != nil
	if o.Process && p.Kind.Sites != nil {
		return uprobe
	}
	return p.InKernel() || uprobe
}

// kernelOnly reports whether the in-process engine is not needed: then no process is traced by ptrace.
func (s *Session) kernelOnly() bool {
	return len(s.mine.Tracepoints) == 0 && len(s.kern.Tracepoints) > 0
}

// Run arms the tracepoints, traces until the program ends or ctx is done, removes everything, and returns
// the result. The error has the user's diagnostics or an error of the environment; the result is valid in
// any case.
func (s *Session) Run(ctx context.Context) (*Result, error) {
	defer close(s.post.ended)
	s.ctx = ctx
	defer s.opt.armingOver(ErrEnded)
	s.state = state{launched: s.launched, kernel: len(s.kern.Tracepoints) > 0}
	if s.kernelOnly() {
		s.beginKernel(ctx)
	} else {
		s.begin(ctx)
	}
	gone := s.subject.done()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	var over <-chan time.Time
	if s.opt.Duration > 0 {
		s.endsAt = time.Now().Add(s.opt.Duration)
		over = time.After(s.opt.Duration)
	}
	interrupted := ctx.Done()
	for s.state.phase != done {
		if interrupted != nil && ctx.Err() != nil { // check this first, since the rings may never be empty
			interrupted = nil
			s.dispatch(ev{kind: evStop}, 0)
			continue
		}
		select {
		case <-interrupted:
			interrupted = nil
			s.dispatch(ev{kind: evStop}, 0)
		case <-over:
			s.endAsked = true
			s.dispatch(ev{kind: evStop}, 0)
		case <-gone:
			gone = nil
			s.dispatch(ev{kind: evExit}, 0)
		case <-s.post.ready:
			for _, m := range s.post.take() {
				s.request = m.req
				s.dispatch(m.ev, m.tid)
			}
		case <-poll.C:
			s.poll()
		}
	}
	if s.state.err != nil && s.err == nil {
		s.err = s.state.err
	}
	return s.result(), s.err
}

// pollEvery is the interval at which the rings are read: long enough that the reader is not always right
// behind the writers, short enough that output seems immediate.
const pollEvery = 4 * time.Millisecond

func (s *Session) poll() {
	if s.state.phase != running {
		return
	}
	correct(s, s.mine.Engine.Rings())
	if s.opt.Tend != nil {
		s.opt.Tend()
	}
	enough, err := s.records.Poll()
	if err == nil {
		err = s.mine.Unblock()
	}
	if s.kern.Engine != nil {
		s.kern.Engine.Tend()
	}
	s.tables.tend(s)
	if enough || err != nil {
		s.dispatch(ev{kind: evStop, err: err}, 0)
	}
}

// dispatch applies the rules and performs the effects. The thread tid is resumed afterwards.
func (s *Session) dispatch(e ev, tid int) {
	var effs []effect
	s.state, effs = handle(s.state, e)
	for _, x := range effs {
		s.carryOut(x, tid)
	}
	s.subject.resume(tid)
}

func (s *Session) carryOut(x effect, tid int) {
	switch x {
	case effResume:
		s.logf("armed after %v", s.armed)
		// An error: the session has ended.
		s.subject.followEarly(s.kern.Engine, func(f func() error) { _ = s.post.call(s.ctx, f) })
		s.subject.release() // otherwise dispatch resumes the waiting thread
	case effRearm:
		pending, err := s.mine.Arm()
		if err != nil && !arming.IsEnd(err) {
			s.warn(err.Error()) // one bad place in a new library does not end a session
		}
		s.dispatch(ev{kind: evRearmed, pending: pending}, 0)
	case effKill:
		s.subject.kill()
	case effDetach:
		s.kern.Disarm()
		s.subject.release()
		if s.subject.p != nil {
			s.detach()
		}
		s.dispatch(ev{kind: evDetached}, 0)
	case effForget:
		s.mine.Replaced(fileOf(s.mine.Process.Pid()))
	case effRelease:
		_ = s.subject.p.Detach()
	case effDrain:
		s.kern.Disarm()
		if err := s.records.Finish(s.endIsLate()); err != nil && s.err == nil {
			s.err = err
		}
		s.dispatch(ev{kind: evDrained}, 0)
	case effFinish:
	case effClear:
		if err := s.mine.Engine.Clear(tid); err != nil && !arming.IsEnd(err) {
			s.warn(err.Error())
		}
	case effServe:
		s.request.reply <- s.request.do()
	case effRefuse:
		s.request.reply <- errNotRunning
	}
}

// detach removes the tracepoints from the process and detaches from it.
func (s *Session) detach() {
	if err := s.mine.Detach(s.state.replaced); errors.Is(err, process.ErrGone) {
		s.subject.awaitEnd()
	} else if err != nil && s.err == nil {
		s.err = err
	}
}

// Close releases the resources of the session.
func (s *Session) Close() {
	s.endSharing()
	s.kern.Close()
	s.subject.close()
	s.mine.Engine.CloseModules()
	_ = s.mine.Engine.Close()
}
