package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Options say what a session traces and how.
type Options struct {
	Tracepoints []*Tracepoint
	NewSink     func(*Session) Sink
	BufferSize  int // bytes of ring a CPU
	StringLimit int // bytes of a string taken along
	RepeatLimit int // elements of p@n with a run-time n
	StackLimit  int // bytes of stack taken for $bt
	MaxEvents   uint64
	DebugDirs   []string // of separate debug files; nil = /usr/lib/debug
	NoOptimise  bool     // leave the IR passes out (to look for errors in them)
	Avoid       uint8    // tactics of package patch not to use, as bits
	Pending     bool     // a place that is not found yet may come with a later library
	// Warn takes warnings, Log what is done step by step, Dump the stages of
	// compilation; each may be nil.
	Warn, Log func(string)
	Dump      Dumper
	Started   time.Time // of jalon itself, for Result.Armed
}

// Dumper shows the stages of compilation of a site.
type Dumper struct {
	IR, Code func(place string, text string)
}

// Result is how a session ended.
type Result struct {
	Summary event.Summary
	Status  process.ExitStatus // of the traced program
	Sites   int
	Armed   time.Duration // from Options.Started to armed sites
}

// Session traces one process. It is used from one goroutine.
type Session struct {
	opt      Options
	p        *process.Process
	launched bool
	state    state
	post     queue

	mods   []*module
	shared *sharedMem
	clock  *event.Clock
	thr    *event.Threads
	tables tableRef
	code   []*region
	sites  []*site
	placed []*placed
	drain  *drain

	trapping bool              // a SIGTRAP handler is installed
	names    map[uint64]string // symbols of addresses, see Symbol

	pauses  []time.Duration
	armed   time.Duration
	started time.Time
	outcome process.ExitStatus
	err     error
}

// IO are the standard streams of a launched program.
type IO struct{ In, Out, Err *os.File }

// Launch starts a program and holds it at its first instruction.
func Launch(argv []string, std IO, opt Options) (*Session, error) {
	s, err := newSession(opt)
	if err != nil {
		return nil, err
	}
	s.launched = true
	s.p, err = process.Start(argv, process.StartOptions{Stdin: std.In, Stdout: std.Out, Stderr: std.Err}, s.config())
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Attach traces a running process.
func Attach(pid int, opt Options) (*Session, error) {
	s, err := newSession(opt)
	if err != nil {
		return nil, err
	}
	s.p, err = process.Attach(pid, s.config())
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newSession(opt Options) (*Session, error) {
	clock, err := event.NewClock()
	if err != nil {
		return nil, err
	}
	s := &Session{opt: opt, clock: clock, thr: event.NewThreads(), started: time.Now()}
	if s.opt.Started.IsZero() {
		s.opt.Started = s.started
	}
	s.post.ready = make(chan struct{}, 1)
	return s, nil
}

// config is what the tracer's goroutine asks and tells.
func (s *Session) config() process.Config {
	return process.Config{
		OnFault:             s.onFault,
		OnTrap:              s.onTrap,
		PCBack:              s.pcBack,
		OnThread:            s.onThread,
		OnModules:           func(tid int) bool { s.post.put(message{ev: ev{kind: evModules}, tid: tid}); return true },
		OnExec:              func(tid int) bool { s.post.put(message{ev: ev{kind: evExec}, tid: tid}); return true },
		OnFork:              s.onFork,
		SwallowTTYInterrupt: true,
	}
}

func (s *Session) onFault(_ int, _ int, pc uint64) (uint64, bool) {
	to, ok := s.tables.get().fault[pc]
	return to, ok
}

func (s *Session) onTrap(_ int, addr uint64) (uint64, bool) {
	to, ok := s.tables.get().trap[addr]
	return to, ok
}

func (s *Session) pcBack(pc uint64) (uint64, bool) {
	to, ok := s.tables.get().origin[pc]
	return to, ok
}

func (s *Session) onThread(e process.ThreadEvent) {
	tsc := event.TSC()
	switch e.Kind {
	case process.ThreadBorn, process.ThreadMoved:
		if e.FSBase != 0 {
			s.thr.Born(e.TID, e.FSBase, e.Comm, tsc)
		}
	case process.ThreadDied:
		s.thr.Died(e.TID, tsc)
	}
}

// onFork restores the original bytes in a forked child's copy of the memory; it
// is let go afterwards and runs without us.
func (s *Session) onFork(child *process.Stopped) {
	for _, p := range s.placed {
		for _, e := range p.edits {
			if err := child.WriteMem(e.Addr, e.Old); err != nil {
				s.logf("forked child: restoring %#x: %v", e.Addr, err)
			}
		}
	}
	if err := s.removeTraps(child); err != nil {
		s.logf("forked child: restoring the action of SIGTRAP: %v", err)
	}
}

// message is an event with the thread that waits for its answer.
type message struct {
	ev  ev
	tid int // to be resumed when the event is dealt with; 0 = none
}

// queue hands messages from the tracer's goroutine to the session's without
// ever blocking the former.
type queue struct {
	mu    sync.Mutex
	list  []message
	ready chan struct{}
}

func (q *queue) put(m message) {
	q.mu.Lock()
	q.list = append(q.list, m)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) take() []message {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.list
	q.list = nil
	return l
}

// Run arms the tracepoints, traces until the program ends or ctx is done, takes
// everything back and gives the summary. The error is the user's diagnostics or
// what the environment refused; the result is valid in any case.
func (s *Session) Run(ctx context.Context) (*Result, error) {
	s.state = state{launched: s.launched}
	s.begin(ctx)
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	interrupted := ctx.Done()
	gone := s.p.Done()
	for s.state.phase != done {
		select {
		case <-interrupted:
			interrupted = nil
			s.dispatch(ev{kind: evStop}, 0)
		case <-gone:
			gone = nil
			s.dispatch(ev{kind: evExit}, 0)
		case <-s.post.ready:
			for _, m := range s.post.take() {
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
		if s.p.WatchesModules() {
			_ = s.p.Resume(held) // it may be gone already; then Done says so
			held = s.awaitModules(ctx)
		}
	}
	pending, err := s.arm()
	s.armed = time.Since(s.opt.Started)
	s.dispatch(ev{kind: evArmed, pending: pending, err: err}, held)
}

// awaitModules returns the thread that ld.so's breakpoint holds, 0 when the
// program ended before, or when the user did.
func (s *Session) awaitModules(ctx context.Context) int {
	select {
	case <-s.post.ready:
		for _, m := range s.post.take() {
			if m.tid != 0 {
				return m.tid
			}
		}
	case <-s.p.Done():
	case <-ctx.Done():
	}
	return 0
}

func (s *Session) poll() {
	if s.drain == nil || s.state.phase != running {
		return
	}
	// A few times in a row at most: the program's other events wait meanwhile.
	for range 16 {
		more, err := s.drain.poll()
		if err != nil {
			if errors.Is(err, errEnough) {
				err = nil
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
		s.carryOut(x)
	}
	if tid != 0 {
		_ = s.p.Resume(tid) // it may be gone, or let go already
	}
}

func (s *Session) carryOut(x effect) {
	switch x {
	case effResume: // dispatch does it for whoever waits
	case effRearm:
		pending, err := s.arm()
		if err != nil {
			s.warn(err.Error()) // one bad place in a new library does not end a session
		}
		s.dispatch(ev{kind: evRearmed, pending: pending}, 0)
	case effKill:
		_ = s.p.Kill()
	case effDetach:
		if err := s.detach(); err != nil && s.err == nil && !errors.Is(err, process.ErrGone) {
			s.err = err
		}
		s.dispatch(ev{kind: evDetached}, 0)
	case effForget:
		s.tables.clear()
		s.placed = nil
		s.warn("the program has called exec: the tracepoints were in the old one; tracing ends")
		_ = s.p.Detach()
	case effDrain:
		if s.drain != nil {
			if err := s.drain.finish(); err != nil && s.err == nil {
				s.err = err
			}
		}
		s.dispatch(ev{kind: evDrained}, 0)
	case effFinish:
	}
}

// arm resolves what has no site yet and installs it. It returns how many
// tracepoints still have no site, and the diagnostics: those of places that are
// not there (unless they may come later), and of expressions.
func (s *Session) arm() (pending int, err error) {
	select {
	case <-s.p.Done():
		return 0, nil
	default:
	}
	maps, err := process.Maps(s.p.Pid())
	if err != nil {
		return 0, err
	}
	s.updateModules(maps)
	var fresh []*site
	var bad lang.Diagnostics
	for _, tp := range s.opt.Tracepoints {
		if tp.sites > 0 || tp.Disabled {
			continue
		}
		sites, perr := s.sitesOf(tp)
		if tp.pending != nil {
			pending++
			if !s.opt.Pending {
				bad = appendDiagnostic(bad, tp.pending)
			}
			continue
		}
		if perr != nil {
			bad = appendDiagnostic(bad, perr)
			continue
		}
		fresh = append(fresh, sites...)
	}
	if len(bad) > 0 {
		return pending, bad.Err()
	}
	if err := s.install(fresh); err != nil {
		return pending, err
	}
	return pending, nil
}

// sitesOf resolves and compiles one tracepoint. A place that is not found leaves
// tp.pending set. When a place has several addresses, those where the
// expressions mean nothing are left out with a warning; the error is that none
// is left.
func (s *Session) sitesOf(tp *Tracepoint) ([]*site, error) {
	tp.pending = nil
	at, err := s.resolve(tp, s.mods)
	if err != nil {
		tp.pending = err
		return nil, nil
	}
	var out []*site
	var firstErr error
	for _, w := range at {
		x, err := s.compile(tp, w)
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			s.logf("%s at %#x: left out: %v", tp.Place.Text, w.addr(), err)
			continue
		}
		out = append(out, x)
	}
	if len(out) == 0 {
		return nil, firstErr
	}
	if left := len(at) - len(out); left > 0 {
		s.warn(fmt.Sprintf("%s: %d of %d addresses are left out: %s", tp.Place.Text, left, len(at), firstLine(firstErr)))
	}
	return out, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "error: ")
}

// updateModules keeps the modules that are already open.
func (s *Session) updateModules(maps []process.Mapping) {
	old := map[string]*module{}
	for _, m := range s.mods {
		old[m.path] = m
	}
	s.mods = modules(s.p.Pid(), maps)
	for i, m := range s.mods {
		if o := old[m.path]; o != nil && o.maps[0].Start == m.maps[0].Start {
			o.maps = m.maps
			s.mods[i] = o
		}
	}
}

// root is the process's root directory when it is another than ours.
func (s *Session) root() string {
	theirs := fmt.Sprintf("/proc/%d/root", s.p.Pid())
	if sameFile(theirs, "/") {
		return ""
	}
	return theirs
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

func (s *Session) result() *Result {
	r := &Result{Sites: len(s.sites), Armed: s.armed}
	select {
	case <-s.p.Done():
		r.Status = s.p.Wait()
	default:
	}
	sum := &r.Summary
	sum.Duration = time.Since(s.started)
	sum.Outcome = r.Status.String()
	sum.Pauses = len(s.pauses)
	for _, p := range s.pauses {
		sum.Pause += p
		sum.LongestPause = max(sum.LongestPause, p)
	}
	if s.drain != nil {
		st := s.drain.reader.Stats()
		sum.Torn, sum.Corrupt, sum.Late = st.Torn, st.Corrupt, s.drain.merger.Late
		sum.Sites = event.CountSites(s.shared.mem, s.drain.decoder.Schemas, s.drain.recorded)
		for i := range sum.Sites {
			sum.Sites[i].Tactic = s.tacticOf(sum.Sites[i].Schema.SiteID)
		}
	}
	return r
}

func (s *Session) tacticOf(id uint32) string {
	for _, x := range s.sites {
		if x.id == id {
			return x.tactic
		}
	}
	return ""
}

// Close frees what the session holds of the machine.
func (s *Session) Close() {
	for _, m := range s.mods {
		if m.dw != nil {
			m.dw.Close()
		}
	}
	if s.shared != nil {
		_ = s.shared.mem.Close()
	}
}

// possibleCPUs is the number of CPUs that may ever run the program.
func possibleCPUs() (int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return 0, fmt.Errorf("counting the CPUs: %w", err)
		}
		return set.Count(), nil
	}
	return ring.ParsePossible(string(b))
}
