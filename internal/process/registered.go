package process

import (
	"encoding/binary"
	"time"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// SequenceTable lists the thread pointers of threads that may use restartable sequences. See package ring.
type SequenceTable interface {
	Register(thread uint64) bool
	Unregister(thread uint64)
}

// registered finds out which threads have a struct rseq that the kernel knows and that no other thread uses, and keeps
// a SequenceTable of them. A new thread has none: libc registers it among the thread's first system calls. So the thread is
// looked at whenever it stops; and where it does not stop by itself it is interrupted once or twice, while it runs.
type registered struct {
	*tracer
	table   SequenceTable // nil: there is none
	offset  int64         // of struct rseq, from the thread pointer
	threads map[int]*registration
	timer   *time.Timer
	delay   time.Duration
}

// registration is what is known of one thread.
type registration struct {
	thread uint64 // its thread pointer; 0: not known
	listed bool
	asked  int // how often it was interrupted for this
}

// sequenceSignature is what glibc registers its threads with, and what generated code has before its abort handlers.
const sequenceSignature = 0x53053053

// Delays before threads that did not stop are interrupted.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = time.Second
	maxAsked  = 2
)

// settled is how long a new thread runs, at most, before libc registers its struct rseq. It is counted on the CPU: on a
// busy machine a thread may wait for its first instruction for any time.
const settled = time.Millisecond

// HasSequences reports whether a thread has a struct rseq (rseq(2)) at offset from its thread pointer, registered with
// the signature that generated code has.
func (s *Stopped) HasSequences(offset int64) bool {
	list, err := s.Threads()
	if err != nil {
		return false
	}
	for _, t := range list {
		if t.Parked || t.Foreign || t.Regs.ThreadPointer() == 0 {
			continue
		}
		if c, has := sys.GetRseq(t.TID); has && c.Sig == sequenceSignature && int64(c.Addr-t.Regs.ThreadPointer()) == offset {
			return true
		}
	}
	return false
}

// ListSequences begins to keep a table of the threads that have a struct rseq at offset from their thread pointers.
func (s *Stopped) ListSequences(offset int64, table SequenceTable) {
	r := &s.p.registered
	r.table, r.offset, r.threads, r.delay = table, offset, map[int]*registration{}, firstLook
	for _, t := range s.tasks() {
		r.threads[t.TID] = &registration{thread: t.fs}
		if t.State == threads.Stopped {
			r.threads[t.TID].thread = threadPointer(t)
		}
	}
	for _, t := range s.tasks() {
		if t.State == threads.Stopped {
			r.look(t)
		}
	}
	r.remind()
}

// EndSequences ends the use of the table. ErrGone: it is not used any more.
func (p *Process) EndSequences() error {
	return p.do(func() error { p.registered.end(); return nil })
}

// LeaveSequences makes threads forget a restartable sequence whose descriptor is in memory that is about to be unmapped.
// No thread may be in such a sequence. Generated code leaves no such pointer, so there should be none.
func (s *Stopped) LeaveSequences(ours func(addr uint64) bool) error {
	r := &s.p.registered
	if r.table == nil {
		return nil
	}
	for _, e := range r.threads {
		if !e.listed {
			continue
		}
		at := e.thread + uint64(r.offset) + inject.SequencePointer
		var b [8]byte
		if s.sp.Read(at, b[:]) != nil || !ours(binary.LittleEndian.Uint64(b[:])) {
			continue
		}
		if err := s.sp.Write(at, make([]byte, 8)); err != nil {
			return s.wrap("take a restartable sequence from a thread", err)
		}
	}
	return nil
}

// report takes the state change of a thread, before it goes on.
func (r *registered) report(t *task, kind threads.Kind) {
	if r.table == nil || t == nil {
		return
	}
	switch {
	case kind == threads.Ended || kind == threads.ExitStop || kind == threads.ExecStop && !r.tracer.threads.Member(t):
		r.gone(t.TID)
	case t.First:
		r.born(t)
	default:
		r.look(t)
	}
}

// born: the thread is about to execute its first instruction.
func (r *registered) born(t *task) {
	if t.Apart() {
		return // its memory is a copy
	}
	e := &registration{thread: threadPointer(t)}
	for _, o := range r.threads {
		if o.listed && o.thread == e.thread {
			r.unlist(o)
		}
	}
	r.threads[t.TID] = e
	if r.timer != nil && r.delay > firstLook { // that of the timer
		r.timer.Stop()
		r.timer = nil
	}
	if r.timer == nil {
		r.delay = firstLook
		r.remind()
	}
}

// look: the thread is stopped. It is listed if it may be.
func (r *registered) look(t *task) {
	e := r.threads[t.TID]
	if r.table == nil || e == nil || e.listed || t.State != threads.Stopped {
		return
	}
	c, ok := sys.GetRseq(t.TID)
	if !ok || c.Sig != sequenceSignature {
		return
	}
	e.thread = threadPointer(t)
	if e.thread == 0 || c.Addr-e.thread != uint64(r.offset) {
		return
	}
	for tid, o := range r.threads {
		if tid != t.TID && o.thread == e.thread {
			return
		}
	}
	e.listed = r.table.Register(e.thread)
}

// gone: the thread executes no code of the program any more.
func (r *registered) gone(tid int) {
	if e := r.threads[tid]; e != nil {
		delete(r.threads, tid)
		r.unlist(e)
	}
}

func (r *registered) unlist(e *registration) {
	if e.listed {
		e.listed = false
		r.table.Unregister(e.thread)
	}
}

func (r *registered) end() {
	r.table, r.threads = nil, nil
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// remind has threads that are not listed looked at later. Under run control threads stop by themselves.
func (r *registered) remind() {
	if r.timer != nil || r.ctl != nil {
		return
	}
	for _, e := range r.threads {
		if !e.listed && e.asked < maxAsked {
			r.timer = time.AfterFunc(r.delay, func() {
				_ = r.do(func() error { r.ask(); return nil }) // ErrGone: nothing is left to look at
			})
			return
		}
	}
}

// ask interrupts threads that run and are not listed: they are looked at when they stop.
func (r *registered) ask() {
	if r.timer = nil; r.table == nil {
		return
	}
	r.delay = min(2*r.delay, lastLook)
	for tid, e := range r.threads {
		t := r.tracer.threads.Get(tid)
		if t == nil || e.listed || e.asked >= maxAsked || t.State != threads.Running || sys.ThreadState(tid) != 'R' {
			continue
		}
		if ran, ok := sys.TimeOnCPU(tid); ok && ran < settled {
			continue
		}
		e.asked++
		r.delay = firstLook
		r.world.interrupt(t)
	}
	r.remind()
}

// threadPointer is that of a stopped thread; 0: it is dying.
func threadPointer(t *task) uint64 {
	var regs Regs
	if sys.GetRegs(t.TID, &regs) != nil {
		return 0
	}
	return regs.ThreadPointer()
}
