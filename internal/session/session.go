package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Options say what a session traces and how.
type Options struct {
	Tracepoints []*tracepoint.Tracepoint
	NewSink     func(*Session) drain.Sink
	BufferSize  int // bytes of ring a CPU
	StringLimit int // bytes of a string taken along
	RepeatLimit int // elements of p@n with a run-time n
	StackLimit  int // bytes of stack taken for $bt
	MaxEvents   uint64
	DebugDirs   []string // of separate debug files; nil = /usr/lib/debug
	NoOptimise  bool     // leave the IR passes out (to look for errors in them)
	Avoid       uint8    // tactics of package patch not to use, as bits
	Kernel      Kernel
	NoUprobes   bool // sites that no jump reaches get an int3, never a uprobe of the kernel
	Pending     bool // a place that is not found yet may come with a later library
	// Warn takes warnings, Log what is done step by step, Dump the stages of
	// compilation; each may be nil.
	Warn, Log func(string)
	Dump      inproc.Dumper
	// Progress is told how far arming is; nil is allowed.
	Progress func(what string, done, of int)
	// OnArmed is called when the first arming is over, with the error that ends the session
	// if there is one, and once more at the end of Run; nil is allowed.
	OnArmed func(error)
	// OnPanic is told of a panic on a goroutine of ours and must end jalon.
	OnPanic func(v any, stack []byte)
	Started time.Time // of jalon itself, for Result.Armed
	// Interrupt ends an Attach that is under way when it is closed; nil: never.
	Interrupt <-chan struct{}
	// Duration ends the session so long after it was armed; 0 = never.
	Duration time.Duration
}

// Session traces one process, or the kernel, or both. It is used from one goroutine.
type Session struct {
	opt      Options
	tps      []*tracked       // in the process
	ktps     []*tracked       // of the kernel engine
	host     *kernel.Host     // the kernel; nil: not used
	kern     *kernel.Engine   // nil: not used
	ksrc     *drain.Source    // its rings
	mine     *inproc.Engine   // of the process
	noKernel error            // why the kernel engine cannot be used for sites of the process
	uprobes  []*uprobe        // sites of the process that the kernel engine serves
	p        *process.Process // nil: no process is traced, the kernel is
	held     *process.Held    // the program that was started, when only the kernel engine traces it
	watched  *process.Watched // the process whose hits the kernel engine is to show; nil: all
	launched bool
	state    state
	post     queue
	asked    *request      // what effAnswer and effRefuse are about
	ended    chan struct{} // closed when Run is over

	clock *event.Clock
	thr   *event.Threads
	drain *drain.Drain
	user  *drain.Source                            // the process's rings
	of    map[*event.Schema]*tracepoint.Tracepoint // what records are of

	typed   typed
	ctx     context.Context // of Session.Run; nil: nothing interrupts
	pauses  []time.Duration
	armed   time.Duration
	started time.Time
	// endAsked: the user has set an end, and it is reached.
	endAsked bool
	endsAt   time.Time // Options.Duration after the arming; zero: never
	err      error
}

// IO are the standard streams of a launched program.
type IO struct{ In, Out, Err *os.File }

// Launch starts a program and holds it at its first instruction.
func Launch(argv []string, std IO, opt Options) (*Session, error) {
	s, err := newSession(opt, true)
	if err != nil {
		return nil, err
	}
	streams := process.StartOptions{Stdin: std.In, Stdout: std.Out, Stderr: std.Err}
	if s.kernelOnly() {
		s.held, err = process.StartHeld(argv, streams)
	} else {
		s.p, err = process.Start(argv, streams, s.config())
	}
	if err != nil {
		return nil, err
	}
	if s.p != nil {
		s.mine.Trace(s.p, nil)
	}
	return s, nil
}

// Attach traces a running process.
func Attach(pid int, opt Options) (*Session, error) {
	s, err := newSession(opt, false)
	if err != nil {
		return nil, err
	}
	s.p, err = process.Attach(pid, s.config())
	if err != nil {
		return nil, err
	}
	s.mine.Trace(s.p, nil)
	return s, nil
}

func newSession(opt Options, launched bool) (*Session, error) {
	if err := procdir.Own(); err != nil {
		return nil, err
	}
	clock, err := event.NewClock()
	if err != nil {
		return nil, err
	}
	mine, kernel := split(&opt)
	s := &Session{opt: opt, tps: track(mine), ktps: track(kernel), clock: clock, thr: event.NewThreads(), started: time.Now(), launched: launched, of: map[*event.Schema]*tracepoint.Tracepoint{}}
	if s.opt.Started.IsZero() {
		s.opt.Started = s.started
	}
	s.mine = inproc.New(s.engineOptions())
	s.post.ready = make(chan struct{}, 1)
	s.ended = make(chan struct{})
	return s, nil
}

// Run arms the tracepoints, traces until the program ends or ctx is done, takes
// everything back and gives the summary. The error is the user's diagnostics or
// what the environment refused; the result is valid in any case.
func (s *Session) Run(ctx context.Context) (*Result, error) {
	defer close(s.ended)
	s.ctx = ctx
	defer s.armingOver(nil)
	s.state = state{launched: s.launched, kernel: len(s.ktps) > 0}
	if s.kernelOnly() {
		s.beginKernel(ctx)
	} else {
		s.begin(ctx)
	}
	var gone <-chan struct{} // the end of the process
	if p := s.subject(); p != nil {
		gone = p.Done()
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	var over <-chan time.Time
	if s.opt.Duration > 0 {
		s.endsAt = time.Now().Add(s.opt.Duration)
		over = time.After(s.opt.Duration)
	}
	interrupted := ctx.Done()
	for s.state.phase != done {
		if interrupted != nil && ctx.Err() != nil { // before rings that are never empty
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
				s.asked = m.req
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

// begin arms for the first time. A launched program with libraries is let run
// until ld.so has mapped and relocated them: then every place can be found, the
// threads' rseq areas are known, and neither main nor a constructor has run.
func (s *Session) begin(ctx context.Context) {
	held := 0
	if s.launched {
		held = s.p.Pid()
		if s.p.WatchesModules() && inproc.HasLinker(held) {
			_ = s.p.Resume(held) // it may be gone already; then Done says so
			held = s.awaitModules(ctx)
		}
	}
	if s.endedEarly(held) { // what of the program is there does not matter
		return
	}
	err := s.armKernel()
	pending := 0
	if err == nil {
		pending, err = s.arm()
	}
	if s.endedEarly(held) {
		return
	}
	if isEnd(err) {
		err = nil // the event that says so is under way
	}
	s.setArmed(err)
	s.dispatch(ev{kind: evArmed, pending: pending, err: err}, held)
}

func (s *Session) setArmed(err error) {
	s.armed = time.Since(s.opt.Started)
	s.mine.Started()
	s.typed.armed.Store(true)
	s.armingOver(err)
}

func (s *Session) armingOver(err error) {
	if s.opt.OnArmed != nil {
		s.opt.OnArmed(err)
	}
}

// reading is the drain, made with its sink when there first is something to read.
func (s *Session) reading() *drain.Drain {
	if s.drain == nil {
		s.drain = drain.New(s.clock, s.opt.NewSink(s))
		s.drain.Max = s.opt.MaxEvents
	}
	return s.drain
}

// isEnd reports whether an error is no more than the end of what is traced, or of the
// session.
func isEnd(err error) bool {
	return errors.Is(err, process.ErrGone) || errors.Is(err, engine.ErrReplaced) || errors.Is(err, errInterrupted)
}

// awaitModules returns the thread that ld.so's breakpoint holds, 0 when the
// program ended before, or when the user did.
func (s *Session) awaitModules(ctx context.Context) int {
	for {
		select {
		case <-s.post.ready:
			for _, m := range s.post.take() {
				if m.req != nil {
					m.req.answer <- errNotRunning
				}
				if m.tid != 0 {
					return m.tid
				}
			}
		case <-s.p.Done():
			return 0
		case <-ctx.Done():
			return 0
		}
	}
}

// pollEvery is how often the reader looks at the rings: rarely enough that it does not
// run behind the writers, often enough that output feels immediate.
const pollEvery = 4 * time.Millisecond

// pollLimit is how long rings that fill as fast as they are read keep the session from
// everything else.
const pollLimit = 50 * time.Millisecond

func (s *Session) poll() {
	if s.drain == nil || s.state.phase != running {
		return
	}
	// A short while at most: the program's other events and the user's wish to end wait.
	for start := time.Now(); time.Since(start) < pollLimit; {
		more, err := s.drain.Poll()
		if err != nil {
			if errors.Is(err, drain.ErrEnough) {
				s.endAsked, err = true, nil
			}
			s.dispatch(ev{kind: evStop, err: err}, 0)
			return
		}
		if !more {
			return
		}
	}
}

// dispatch asks the rules and carries out the effects. tid waits for the answer.
func (s *Session) dispatch(e ev, tid int) {
	var effs []effect
	s.state, effs = handle(s.state, e)
	for _, x := range effs {
		s.carryOut(x, tid)
	}
	if tid != 0 {
		_ = s.p.Resume(tid) // it may be gone, or let go already
	}
}

func (s *Session) carryOut(x effect, tid int) {
	switch x {
	case effResume:
		s.logf("armed after %v", s.armed)
		if s.held != nil {
			s.held.Release()
		} // else dispatch does it for whoever waits
	case effRearm:
		pending, err := s.arm()
		if err != nil && !isEnd(err) {
			s.warn(err.Error()) // one bad place in a new library does not end a session
		}
		s.dispatch(ev{kind: evRearmed, pending: pending}, 0)
	case effKill:
		if s.held != nil {
			s.held.Kill()
			return
		}
		_ = s.p.Kill()
	case effDetach:
		s.disarmKernel()
		if s.held != nil {
			s.held.Release()
		}
		if s.p == nil {
			s.dispatch(ev{kind: evDetached}, 0)
			return
		}
		if err := s.detach(); errors.Is(err, process.ErrGone) {
			s.awaitEnd()
		} else if err != nil && s.err == nil {
			s.err = err
		}
		s.dispatch(ev{kind: evDetached}, 0)
	case effForget:
		s.mine.Drop()
		s.removeUprobes()
		if len(s.tps) > 0 {
			s.warn("the program has called exec: the tracepoints were in the old one; tracing of it ends")
		}
	case effRelease:
		_ = s.p.Detach()
	case effDrain:
		s.disarmKernel()
		if s.drain != nil {
			if err := s.drain.Finish(s.endIsLate()); err != nil && s.err == nil {
				s.err = err
			}
		}
		s.dispatch(ev{kind: evDrained}, 0)
	case effFinish:
	case effClear:
		if err := s.mine.Clear(tid); err != nil && !isEnd(err) {
			s.warn(err.Error())
		}
	case effAnswer:
		s.asked.answer <- s.asked.do()
	case effRefuse:
		s.asked.answer <- errNotRunning
	}
}

// endLimit is how long events are still shown, and written, when the user waits for the end.
const endLimit = 2 * time.Second

// endIsLate reports, while the last events are shown, that the user waits for the end
// for too long. The output of a program that has ended by itself is not cut off, unless
// the user says so then.
func (s *Session) endIsLate() func() bool {
	var since time.Time
	return func() bool {
		if since.IsZero() && (s.endAsked || s.interrupted() != nil || !s.endsAt.IsZero() && time.Now().After(s.endsAt)) {
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > endLimit
	}
}

// awaitEnd waits until a process on its way out is gone and its status is known: a
// core may be written meanwhile, but not for ever.
func (s *Session) awaitEnd() {
	select {
	case <-s.p.Done():
	case <-time.After(10 * time.Second):
	}
}

func (s *Session) logf(format string, args ...any) {
	if s.opt.Log != nil {
		s.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (s *Session) warn(msg string) {
	if s.opt.Warn != nil {
		s.opt.Warn(msg)
	}
}

// Close frees what the session holds of the machine.
func (s *Session) Close() {
	if s.kern != nil {
		_ = s.kern.Close()
		s.host.Close()
	}
	if s.watched != nil {
		s.watched.Close()
	}
	s.mine.CloseModules()
	_ = s.mine.Close()
}

// patternSites is the room for sites where a pattern may match functions of libraries
// that come later: those of a large one. It takes 2 MiB a CPU, of which only what is used
// is ever allocated.
const patternSites = 1 << 16

// laterSites is how many sites there may be in the end; 0: some more than at first.
func (s *Session) laterSites() int {
	for _, tp := range s.opt.Tracepoints {
		if s.opt.Pending && tp.Place.Glob() {
			return patternSites
		}
	}
	return 0
}

// engineOptions are those of the in-process engine.
func (s *Session) engineOptions() inproc.Options {
	return inproc.Options{
		BufferSize: s.opt.BufferSize, DebugDirs: s.opt.DebugDirs, Avoid: s.opt.Avoid, Fresh: s.launched, Sites: s.laterSites(),
		Uprobes: uprobes{s}, Dump: s.opt.Dump, Log: s.opt.Log, Warn: s.opt.Warn, Progress: s.step,
		OnRings: func(mem *ring.Shared) {
			pid := s.p.Pid()
			s.user = s.reading().Add(mem, false, event.Decoder{Threads: s.thr, Pid: pid, Comm: drain.Comm(pid, pid)})
		},
		OnPause: func(d time.Duration) {
			if !s.launched || s.state.phase == running {
				s.pauses = append(s.pauses, d)
			}
		},
		OnNoClock: s.onNoClock,
	}
}

// detach takes everything back and lets the process go.
func (s *Session) detach() error {
	if !s.state.replaced {
		if err := s.mine.Stop(); err != nil && !errors.Is(err, engine.ErrReplaced) {
			return err
		}
	}
	// The tables are needed until the end: threads may be left in the engine's code.
	defer s.mine.Drop()
	return s.p.Detach()
}

// trouble reports what went wrong when the program's own code is back already: what is
// left does no harm.
func (s *Session) trouble(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrGone) {
		s.warn(fmt.Sprintf("%s: %v", what, err))
	}
}
