// Package drain reads the rings of engines while hits arrive, merges the records of all CPUs and engines in
// the order of time, and passes them to a Sink as events.
//
// Import rule: drain imports event and ring only.
package drain

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Sink receives the events.
type Sink = event.Sink

// Ender is a Sink with output to write after the last event.
type Ender interface{ End() error }

// Waiter is a Sink whose reader may stop reading for a while. Its events then wait in memory.
type Waiter interface {
	// Full reports whether the sink should not be given more events now.
	Full() bool
	// Wait waits until the sink is not full, or late returns true; then it returns false.
	Wait(late func() bool) bool
	// Finish waits until the reader has everything, or late returns true. It returns the number of events
	// that the reader did not receive.
	Finish(late func() bool) (unwritten uint64, err error)
}

// ErrEnough ends a trace after the requested number of events.
var ErrEnough = errors.New("enough events")

// errTurn: more events can be shown, but other work comes first.
var errTurn = errors.New("the turn is over")

const (
	// showTurn is the time for showing events before other work is done: the user may have ended the trace,
	// or the program may have loaded libraries. Showing a stack is slow.
	showTurn = 50 * time.Millisecond
)

// Drain reads the rings of engines, orders the records and passes them to the sink. Its methods are called
// from one goroutine; AddSchema from any.
type Drain struct {
	merger *event.Merger
	clock  *event.Clock
	sink   Sink
	waiter Waiter // the sink, if it is a Waiter
	// recorder is the sink, if it is a Recorder: then nothing waits in the merger.
	recorder Recorder
	live     *live  // nil: the recorder's events are not shown
	Max      uint64 // events to show; 0 = all
	sources  []*Source

	names   map[int]string // threads seen since their names were last read
	noted   [16]named      // the last of these, by the low bits of the thread id
	renamed time.Time

	mu    sync.Mutex // guards the sources' schemas
	shown uint64
	// late reports that other work must be done; nil: never.
	late  func() bool
	first int // the ring that is read first
	// asked counts the calls of isLate since it looked at the time, lastAsked, and looks again after unasked.
	asked, unasked uint8
	lastAsked      time.Time
	// ending: after late, the remaining records are counted in unshown and not shown.
	ending  bool
	unshown uint64
	buf     []byte
	ev      event.Event
	batch   event.Batch
	passed  bool // there are passcounts
	Whole   completion
}

// Source has the rings of one engine.
type Source struct {
	mem        *ring.Shared
	reader     *ring.Reader
	first      int // number of its first ring in the merger
	Kernel     bool
	decoder    event.Decoder
	passes     []*Pass  // by site; nil: without a passcount
	recorded   []uint64 // by site
	counters   *event.Counters
	coarse     *event.CoarseClock // of ring.ClockCoarse
	visits     *visits            // of ring.ClockNone
	blocked    []blocked          // by ring
	wait       uint64             // how long a hit may wait for room, in ticks; 0: not at all
	unblocking unblocking
	// Learn, if not nil, reports the thread pointers of all threads to the decoder's Threads; they are stopped for
	// that. It is called for a record with a thread pointer that is not known: that of the first thread of a program
	// without ld.so, which sets it when it runs already.
	Learn   func()
	learned time.Time // when Learn may be called again
}

func New(clock *event.Clock, sink Sink) *Drain {
	d := &Drain{names: map[int]string{}, clock: clock, sink: sink, merger: event.NewMerger(0), Whole: newCompletion(clock, sink)}
	d.merger.Slack = clock.Ticks(event.Slack)
	d.merger.Hold = clock.Ticks(event.Hold)
	d.merger.Limit = event.MaxWaiting / 2
	d.waiter, _ = sink.(Waiter)
	d.recorder, _ = sink.(Recorder)
	if to, ok := sink.(Shower); ok {
		d.live = newLive(to, d.merger)
	}
	return d
}

// Add adds the rings of an engine; dec describes how its records are decoded. The stamps of the kernel
// engine are nanoseconds; if it is added, all records are ordered by nanoseconds.
func (d *Drain) Add(mem *ring.Shared, kernel bool, dec event.Decoder) *Source {
	d.mu.Lock()
	defer d.mu.Unlock()
	dec.Clock, dec.Stacks = d.clock, mem.Stacks()
	dec.Schemas = make([]*event.Schema, mem.Sites())
	src := &Source{
		mem: mem, reader: ring.NewReader(mem), Kernel: kernel, decoder: dec,
		passes: make([]*Pass, mem.Sites()), recorded: make([]uint64, mem.Sites()),
		counters: event.NewCounters(mem),
	}
	if !kernel {
		src.decoder.Possible.From = event.TSC() - d.clock.Ticks(event.StampSlack)
	}
	src.blocked = make([]blocked, src.reader.Rings())
	for _, s := range d.sources {
		src.first += s.reader.Rings()
	}
	d.sources = append(d.sources, src)
	for _, m := range d.mergers() {
		m.Grow(src.reader.Rings())
		if kernel && m.Key == nil {
			_ = d.clock.Refresh() // the next poll returns the error again
			m.Rekey(d.key, uint64(event.Slack), uint64(event.Hold))
		}
	}
	return src
}

func (d *Drain) sourceOf(cpu int) *Source {
	for i := len(d.sources) - 1; i > 0; i-- {
		if cpu >= d.sources[i].first {
			return d.sources[i]
		}
	}
	return d.sources[0]
}

// key converts a stamp to nanoseconds of CLOCK_MONOTONIC.
func (d *Drain) key(cpu int, stamp uint64) uint64 {
	if d.sourceOf(cpu).Kernel {
		return stamp
	}
	return uint64(d.clock.Mono(stamp))
}

// now returns the present time in the merger's unit.
func (d *Drain) now() uint64 {
	if d.merger.Key == nil {
		return event.TSC()
	}
	return uint64(event.Monotonic())
}

// Pass counts down the hits until GDB's passcount of a tracepoint is reached. The sites of the tracepoint
// share it.
type Pass struct{ Left int }

// AddSchema registers the records of a site, before the site is armed. p may be nil.
func (d *Drain) AddSchema(src *Source, s *event.Schema, p *Pass) {
	d.mu.Lock()
	defer d.mu.Unlock()
	src.passes[s.SiteID] = p
	d.passed = d.passed || p != nil
	src.decoder.Schemas[s.SiteID] = s
	src.reader.SetSize(s.SiteID, s.RecordSize)
	src.reader.SetShort(s.SiteID, s.ShortSize)
}

// DropSchema removes the schema of a site that was not armed.
func (d *Drain) DropSchema(src *Source, id uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	src.decoder.Schemas[id] = nil
}

// Poll reads every ring once and shows the records whose order is known, for showTurn at most. more: a ring
// fills so fast that it should be read again at once, or more records can be shown.
func (d *Drain) Poll() (more bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if more, err = d.look(); err != nil {
		return more, err
	}
	d.rename()
	if d.Max > 0 && spent(d.sources, d.Max) {
		return more, ErrEnough // no hit leaves a record any more
	}
	if d.waiter != nil && d.waiter.Full() {
		if err := d.sink.Flush(); err != nil { // an error of the writer
			return more, err
		}
		if d.Max > 0 && d.shown+d.merger.Records() >= d.Max {
			return false, ErrEnough // enough events wait for the reader
		}
		return more, nil
	}
	more = d.showLive() || more
	end := time.Now().Add(showTurn)
	d.late = func() bool { return time.Now().After(end) }
	defer func() { d.late = nil }()
	if err := d.merger.Emit(d.show); errors.Is(err, errTurn) {
		more = true
	} else if err != nil {
		return more, err
	}
	return more, d.sink.Flush()
}

// spent reports whether as many hits as are wanted have left a record (sema.Input.Most). Finish shows those that wait.
func spent(sources []*Source, wanted uint64) bool {
	return len(sources) > 0 && !slices.ContainsFunc(sources, func(s *Source) bool { return s.mem.Variable(ring.MostVariable) < wanted })
}

// look reads every ring once, unless too much is waiting already. In that case records stay in the rings,
// and are counted as lost when a ring is full.
func (d *Drain) look() (more bool, err error) {
	if err := d.sample(); err != nil {
		return false, err
	}
	if d.merger.Waiting() < event.MaxWaiting && (d.recorder == nil || !d.recorder.Full()) {
		if more, err = d.readAll(); err != nil {
			return more, err
		}
	}
	return more, d.clock.Refresh()
}

// sample refreshes the clock before Add converts the first stamp, because a converted time is final.
func (d *Drain) sample() error {
	if d.merger.Key == nil {
		return nil
	}
	return d.clock.Refresh()
}

// settle reads a ring of the kernel engine to its end. A program that was running when its probe was
// detached commits its record within microseconds; such a writer cannot be killed.
func (src *Source) settle(cpu int, dst []byte) []byte {
	end := time.Now().Add(time.Second)
	for {
		var state ring.State
		dst, state = src.reader.Drain(cpu, dst)
		if state == ring.Empty || time.Now().After(end) {
			return dst
		}
		runtime.Gosched()
	}
}

func (d *Drain) show(r event.Record) error {
	src := d.sourceOf(r.CPU)
	r.CPU = src.mem.CPU(r.CPU - src.first)
	if err := src.decoder.Decode(r, &d.ev); err != nil {
		return nil // the reader counts it as damage; the traced program can overwrite records
	}
	src.recorded[r.Site()]++
	if !src.Kernel {
		d.note(src)
	}
	switch {
	case d.Max > 0 && d.shown+d.unshown >= d.Max:
		return ErrEnough
	case d.unshown > 0 || d.ending && d.isLate():
		d.unshown++
		return nil
	}
	d.shown++
	if err := d.sink.Event(&d.ev); err != nil {
		return err
	}
	if d.Max > 0 && d.shown == d.Max {
		return ErrEnough
	}
	if p := src.passes[r.Site()]; p != nil {
		if p.Left--; p.Left <= 0 {
			d.Max = d.shown // show nothing after the last pass
			return ErrEnough
		}
	}
	if !d.ending && d.isLate() {
		return errTurn
	}
	return nil
}

// maxUnasked is how many events are shown between two looks at the time; most take less than a microsecond. Those of a
// script with many statements may take a second.
const (
	maxUnasked = 16
	longShown  = time.Millisecond
)

// isLate reports now and then whether showing must stop: at each event, while they take long. At the end of a trace it
// waits for the sink's reader.
func (d *Drain) isLate() bool {
	if d.asked++; d.asked < d.unasked {
		return false
	}
	now := time.Now()
	d.unasked = min(2*d.unasked+1, maxUnasked)
	if now.Sub(d.lastAsked) > longShown {
		d.unasked = 1
	}
	d.asked, d.lastAsked = 0, now
	if d.late != nil && d.late() {
		return true
	}
	switch {
	case d.waiter == nil:
		return false
	case d.ending:
		return !d.waiter.Wait(d.late)
	}
	return d.waiter.Full()
}

// Sources returns the rings that are read.
func (d *Drain) Sources() []*Source { return d.sources }

// Late returns how many records arrived too late to be shown in the order of time.
func (d *Drain) Late() uint64 { return d.merger.Late }

// Shown returns how many events were shown.
func (d *Drain) Shown() uint64 { return d.shown }

// Unshown returns how many events Finish has counted because they were not shown or not written.
func (d *Drain) Unshown() uint64 { return d.unshown }

// Stats returns what the reader has found in the rings.
func (src *Source) Stats() ring.Stats { return src.reader.Stats() }

// StacksFull returns how many stacks found no place in the table of stacks.
func (src *Source) StacksFull() uint64 {
	if src.decoder.Stacks == nil {
		return 0
	}
	return src.decoder.Stacks.Full()
}

// Sites returns the counters of the sites with schemas.
func (src *Source) Sites() []event.SiteSummary {
	return src.counters.Sites(src.decoder.Schemas, src.recorded)
}

// Schema returns the schema of the site of a number; nil if there is none.
func (src *Source) Schema(number uint64) *event.Schema {
	if number >= uint64(len(src.decoder.Schemas)) {
		return nil
	}
	return src.decoder.Schemas[number]
}

// Comm returns the name of a thread, "" if it is not known.
func Comm(pid, tid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
