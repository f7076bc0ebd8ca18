package session

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Program is a hit program that its owner makes, for one address of the process:
// GDB's, out of bytecode.
type Program struct {
	Number   int // of its tracepoint, for messages
	Addr     uint64
	Disabled bool
	// Make gives the program, not optimised, and the size of its records.
	Make func(SiteFacts) (*ir.Program, int, error)

	tp *tracked
}

// SiteFacts is what is known of a site when its program is made.
type SiteFacts struct {
	Function string
	GSBase   bool // the processor has rdgsbase
	AVX      bool // there are ymm registers
	XGETBV1  bool // the processor tells which parts of its state are in use
	// Readable reports whether size bytes at a run-time address are there as long as
	// the site is.
	Readable func(addr, size uint64) bool
	// InFrame reports the same of bytes at an offset from a DWARF register, for those
	// among the function's variables on the stack.
	InFrame func(reg, off, size int64) bool
}

// Record is what one hit of a Program wrote. It is valid during the call only.
type Record struct {
	Program *Program
	Time    int64 // nanoseconds since the epoch
	CPU     int
	TID     int // 0: not known
	Data    []byte
}

// RunOptions say how a Run traces.
type RunOptions struct {
	BufferSize int            // bytes of ring a CPU
	Threads    *event.Threads // of the process; the owner keeps them up to date with Note
	Variables  []uint64       // what the programs' variables are at the start, by index
	NoOptimise bool
	DebugDirs  []string
	// Breakpoints reports whether the owner's breakpoints lie in [lo, hi): the bytes
	// there must stay as they are. Nil: there are none.
	Breakpoints func(lo, hi uint64) bool
	Log         func(string)
	Dump        Dumper
}

// Run traces a process that somebody else drives, from Arm to Stop: package session
// without the life of a Session. The owner gives the process the callbacks Fault,
// Trap, Back and Forked. It is used from one goroutine, the callbacks from the
// tracer's.
type Run struct {
	s     *Session
	give  func(Record)
	ended bool
	gone  atomic.Bool // the program that it was in is another one now
}

// NewRun prepares a run. What an earlier run in the same process knows of its
// modules is used again.
func NewRun(p *process.Process, opt RunOptions, before *Run) (*Run, error) {
	clock, err := event.NewClock()
	if err != nil {
		return nil, err
	}
	r := &Run{}
	s := &Session{
		p: p, clock: clock, thr: opt.Threads, ended: make(chan struct{}),
		state: state{phase: running, launched: true},
		opt: Options{
			BufferSize: opt.BufferSize, NoOptimise: opt.NoOptimise, DebugDirs: opt.DebugDirs, Log: opt.Log, Warn: opt.Log, Dump: opt.Dump,
			NewSink: func(*Session) Sink { return r }, variables: opt.Variables, breakpoints: opt.Breakpoints,
		},
	}
	if before != nil {
		s.mods = before.s.mods
	}
	r.s = s
	return r, nil
}

// Note keeps the threads of a process, as its callback OnThread tells them.
func Note(threads *event.Threads, e process.ThreadEvent) { (&Session{thr: threads}).onThread(e) }

// Fault, Trap and Back are the process's callbacks OnFault, OnTrap and PCBack.
func (r *Run) Fault(tid, sig int, pc uint64) (uint64, bool) {
	if r.gone.Load() {
		return 0, false
	}
	return r.s.onFault(tid, sig, pc)
}

// Clock is the process's callback OnClock.
func (r *Run) Clock(tid int, pc uint64) (uint64, bool) {
	if r.gone.Load() {
		return 0, false
	}
	return r.s.onClock(tid, pc)
}

// Trap: see Fault.
func (r *Run) Trap(tid int, addr uint64) (uint64, bool) {
	if r.gone.Load() {
		return 0, false
	}
	return r.s.onTrap(tid, addr)
}

// Back: see Fault.
func (r *Run) Back(pc uint64) (process.Origin, bool) {
	if r.gone.Load() {
		return process.Origin{}, false
	}
	return r.s.pcBack(pc)
}

// Forked takes the run out of a forked child's copy of the memory.
func (r *Run) Forked(child *process.Stopped) {
	if !r.gone.Load() {
		r.s.onFork(child)
	}
}

// Arm puts programs into the process. The result has an error for each that could
// not be; the others are armed.
func (r *Run) Arm(list []*Program) []error {
	errs := make([]error, len(list))
	fail := func(err error) []error {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	s := r.s
	if r.gone.Load() {
		return fail(errReplaced)
	}
	maps, err := process.Maps(s.p.Pid())
	if err != nil {
		return fail(err)
	}
	s.updateModules(maps)
	var fresh []*site
	for i, x := range list {
		place, err := probe.Parse(fmt.Sprintf("*%#x", x.Addr))
		if err != nil {
			errs[i] = err
			continue
		}
		x.tp = &tracked{Tracepoint: &tracepoint.Tracepoint{Number: x.Number, Place: place, Disabled: x.Disabled}, program: x}
		s.tps = append(s.tps, x.tp)
		sites, err := s.sitesOf(x.tp)
		if err == nil {
			err = x.tp.pending
		}
		if err != nil {
			errs[i] = plain(err)
			continue
		}
		if !x.Disabled {
			fresh = append(fresh, sites...)
		}
	}
	if err := r.insert(fresh); isEnd(err) {
		return fail(err)
	}
	for i, x := range list {
		if errs[i] == nil && !x.Disabled && x.tp.sites == 0 {
			errs[i] = r.whyNot(x)
		}
	}
	return errs
}

// whyNot says why a program is not armed.
func (r *Run) whyNot(x *Program) error {
	if l := r.s.left[x.tp]; l != nil {
		return plain(l.First)
	}
	return errors.New("it could not be installed")
}

// plain is the first line of a diagnostic: there is no source text to show.
func plain(err error) error {
	if isEnd(err) {
		return err
	}
	return errors.New(firstLine(err))
}

// Stop takes everything out of the process. What was recorded is still to be
// drained. Lingering tells whether threads may still be in code of ours, which then
// stays: its callbacks are needed.
func (r *Run) Stop() error {
	if r.ended || r.gone.Load() {
		return nil
	}
	r.ended = true
	s := r.s
	if len(s.placed) == 0 && len(s.old) == 0 && s.shared == nil {
		return nil
	}
	err := s.takeBack()
	// Threads that return from signal handlers later, and children that were forked
	// before and are looked at after this, still need to know what was where.
	s.placedMu.Lock()
	s.old, s.placed = append(s.old, s.placed...), nil
	s.placedMu.Unlock()
	if isEnd(err) {
		return nil
	}
	return err
}

// Lingering: see Stop.
func (r *Run) Lingering() bool { return r.s.code != nil && !r.gone.Load() }

// Forget is for a process that is another program now (exec): nothing of the run is in
// it, and nothing more can be put there. It may be called on the tracer's goroutine.
// What was recorded is still to be drained.
func (r *Run) Forget() {
	r.gone.Store(true)
	r.s.execs.Add(1)
	r.s.tables.clear()
}

// Close frees what the run holds. The modules stay open for the run after it.
func (r *Run) Close() {
	if r.s.shared != nil {
		_ = r.s.shared.mem.Close()
		r.s.shared = nil
	}
}

// shorter is the size of a program's records that have not the usual size; 0: all have.
func shorter(p *ir.Program, size int) int {
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			if in := &b.Instrs[i]; in.Op == ir.Reserve && int(in.Imm) != size {
				return int(in.Imm)
			}
		}
	}
	return 0
}

// compileProgram makes the site of a Program.
func (s *Session) compileProgram(tp *tracked, w where) (*site, error) {
	var f *frameSpace
	if scope, err := w.mod.dw.ScopeForSite(w.site); err == nil {
		f = frameSpaceOf(scope)
	}
	prog, size, err := tp.program.Make(SiteFacts{
		Function: w.site.Func, InFrame: f.has, GSBase: hasFSGSBASE(), AVX: hasAVX(), XGETBV1: hasXGETBV1(),
		Readable: func(addr, n uint64) bool { return w.mod.readable(addr-w.mod.bias, n) },
	})
	if err != nil {
		return nil, err
	}
	s.finishIR(prog, tp.Place.Text)
	schema := &event.Schema{Place: tp.Place.Text, Function: w.site.Func, PC: w.addr(), RecordSize: size, ShortSize: shorter(prog, size)}
	return &site{tp: tp, where: w, addr: w.addr(), prog: prog, schema: schema}, nil
}
