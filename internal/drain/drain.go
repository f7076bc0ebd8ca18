// Package drain reads the rings of engines while hits come, puts the records of all
// CPUs and engines in the order of time, and gives them to a Sink as events.
//
// Import rule: drain imports event and ring only.
package drain

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Sink is where events go.
type Sink = event.Sink

// Ender is a Sink that has something to write when the last event was shown.
type Ender interface{ End() error }

// Waiter is a Sink whose reader may take nothing for a while. What it is given waits in memory.
type Waiter interface {
	// Full reports whether so much waits that the sink should be given no more.
	Full() bool
	// Wait waits until it is not full, or late says that it is late: then it is false.
	Wait(late func() bool) bool
	// Finish waits until the reader has everything, or late says that it is late. It returns
	// how many events the reader did not get.
	Finish(late func() bool) (unwritten uint64, err error)
}

// ErrEnough ends a trace after the requested number of events.
var ErrEnough = errors.New("enough events")

// errTurn: events are to be shown still, and something else comes first.
var errTurn = errors.New("the turn is over")

const (
	// showTurn is the time for showing events before other work is done: the user may end the trace, or the
	// program may load libraries. Showing a stack takes long.
	showTurn = 50 * time.Millisecond
)

// Drain reads the rings of engines, orders the records and hands them to the
// sink. Its methods are called from one goroutine; AddSchema from any.
type Drain struct {
	merger  *event.Merger
	clock   *event.Clock
	sink    Sink
	waiter  Waiter // the sink; nil: it never waits
	Max     uint64 // events to show; 0 = all
	sources []*Source

	names   map[int]string // threads seen since names were looked at
	noted   [16]named      // the last of them, by the low bits of the number
	renamed time.Time

	mu    sync.Mutex // guards the sources' schemas
	shown uint64
	// late reports that it is time for something else; nil: it never is.
	late  func() bool
	asked uint8 // number of calls of isLate
	// ending: after late, what is left is counted in unshown and not shown.
	ending  bool
	unshown uint64
	buf     []byte
	ev      event.Event
}

// Source is the rings of one engine.
type Source struct {
	mem      *ring.Shared
	reader   *ring.Reader
	first    int // number of its first ring in the merger
	Kernel   bool
	decoder  event.Decoder
	passes   []*Pass  // by site; nil: without a passcount
	recorded []uint64 // by site
	counters *event.Counters
}

func New(clock *event.Clock, sink Sink) *Drain {
	d := &Drain{names: map[int]string{}, clock: clock, sink: sink, merger: event.NewMerger(0)}
	d.merger.Slack = clock.Ticks(event.Slack)
	d.merger.Hold = clock.Ticks(event.Hold)
	d.merger.Limit = event.MaxWaiting / 2
	d.waiter, _ = sink.(Waiter)
	return d
}

// Add takes another engine's rings along; dec says how its records are decoded.
// The kernel's stamps are nanoseconds: with them all records are ordered by those.
func (d *Drain) Add(mem *ring.Shared, kernel bool, dec event.Decoder) *Source {
	d.mu.Lock()
	defer d.mu.Unlock()
	dec.Clock = d.clock
	dec.Schemas = make([]*event.Schema, mem.Sites())
	src := &Source{
		mem: mem, reader: ring.NewReader(mem), Kernel: kernel, decoder: dec,
		passes: make([]*Pass, mem.Sites()), recorded: make([]uint64, mem.Sites()),
		counters: event.NewCounters(mem),
	}
	if !kernel {
		src.decoder.Possible.From = event.TSC() - d.clock.Ticks(event.StampSlack)
	}
	for _, s := range d.sources {
		src.first += s.reader.Rings()
	}
	d.sources = append(d.sources, src)
	d.merger.Grow(src.reader.Rings())
	if kernel && d.merger.Key == nil {
		_ = d.clock.Refresh() // an error comes again with the next poll
		d.merger.Rekey(d.key, uint64(event.Slack), uint64(event.Hold))
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

// key is the time of a stamp in nanoseconds of CLOCK_MONOTONIC.
func (d *Drain) key(cpu int, stamp uint64) uint64 {
	if d.sourceOf(cpu).Kernel {
		return stamp
	}
	return uint64(d.clock.Mono(stamp))
}

// now is the present time in the merger's unit.
func (d *Drain) now() uint64 {
	if d.merger.Key == nil {
		return event.TSC()
	}
	return uint64(event.Monotonic())
}

// Pass counts down the hits that GDB's passcount allows a tracepoint; its sites
// share it.
type Pass struct{ Left int }

// AddSchema makes a site's records known, before the site is armed. p may be nil.
func (d *Drain) AddSchema(src *Source, s *event.Schema, p *Pass) {
	d.mu.Lock()
	defer d.mu.Unlock()
	src.passes[s.SiteID] = p
	src.decoder.Schemas[s.SiteID] = s
	src.reader.SetSize(s.SiteID, s.RecordSize)
	src.reader.SetShort(s.SiteID, s.ShortSize)
}

// DropSchema makes a site unknown again that was not armed after all.
func (d *Drain) DropSchema(src *Source, id uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	src.decoder.Schemas[id] = nil
}

// Poll reads every ring once and shows what is in order, for showTurn at most. more says
// that a ring fills so fast that it should be looked at again at once, or that more
// is to be shown.
func (d *Drain) Poll() (more bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if more, err = d.look(); err != nil {
		return more, err
	}
	d.rename()
	if d.waiter != nil && d.waiter.Full() {
		if err := d.sink.Flush(); err != nil { // of the writer
			return more, err
		}
		if d.Max > 0 && d.shown+d.merger.Records() >= d.Max {
			return false, ErrEnough // there are enough, whenever they are read
		}
		return more, nil
	}
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

// look reads every ring once, unless too much waits already: then what comes stays in the
// rings, and is counted as lost when these are full.
func (d *Drain) look() (more bool, err error) {
	if err := d.sample(); err != nil {
		return false, err
	}
	if d.merger.Waiting() < event.MaxWaiting {
		if more, err = d.readAll(); err != nil {
			return more, err
		}
	}
	return more, d.clock.Refresh()
}

// pollLimit is how long rings that fill as fast as they are read keep the caller of PollAll
// from everything else.
const pollLimit = 50 * time.Millisecond

// PollAll is Poll until there is nothing more, for a short while at most: the program's other
// events and the user's wish to end wait. enough: all that was asked for is shown.
func (d *Drain) PollAll() (enough bool, err error) {
	for start := time.Now(); time.Since(start) < pollLimit; {
		more, err := d.Poll()
		if errors.Is(err, ErrEnough) {
			return true, nil
		}
		if err != nil || !more {
			return false, err
		}
	}
	return false, nil
}

// readAll reads every ring once.
func (d *Drain) readAll() (more bool, err error) {
	for _, src := range d.sources {
		for cpu := range src.reader.Rings() {
			now := d.now()
			var state ring.State
			if state, err = d.read(src, cpu); err != nil {
				return more, err
			}
			d.merger.Looked(src.first+cpu, state, now)
			more = more || len(d.buf) > src.mem.RingSize()/8
		}
	}
	return more, nil
}

// read gives the records of a ring to the merger.
func (d *Drain) read(src *Source, cpu int) (state ring.State, err error) {
	defer src.mem.Guard(&err)()
	d.buf, state = src.reader.Drain(cpu, d.buf[:0])
	d.take(src, cpu)
	return state, nil
}

// readLast is read of a ring that no code writes to any more.
func (d *Drain) readLast(src *Source, cpu int) (err error) {
	defer src.mem.Guard(&err)()
	if src.Kernel {
		d.buf = src.settle(cpu, d.buf[:0])
	} else {
		d.buf = src.reader.Recover(cpu, d.buf[:0])
	}
	d.take(src, cpu)
	return nil
}

// take gives the records of d.buf, which a ring has just given, to the merger. Their
// stamps lie between the arming and now; the program can have written others.
func (d *Drain) take(src *Source, cpu int) {
	if len(d.buf) == 0 {
		return
	}
	d.merger.Possible = event.Span{}
	if !src.Kernel {
		now, slack := event.TSC(), d.clock.Ticks(event.StampSlack)
		src.decoder.Possible.To = now + slack
		d.merger.Possible = src.decoder.Possible
		if d.merger.Key != nil {
			d.merger.Possible = event.Span{From: uint64(d.clock.Mono(src.decoder.Possible.From)), To: uint64(d.clock.Mono(now + slack))}
		}
	}
	d.merger.Add(src.first+cpu, d.buf)
}

// Finish reads what is left when no code writes any more, and waits for the reader of the
// sink. What has not been shown, or taken by the reader, when late says so is counted only.
func (d *Drain) Finish(late func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.finish(late)
	if d.waiter != nil {
		unwritten, werr := d.waiter.Finish(late)
		d.unshown += unwritten
		if err == nil {
			err = werr
		}
	}
	return err
}

func (d *Drain) finish(late func() bool) error {
	d.late, d.ending = late, true
	if err := d.sample(); err != nil {
		return err
	}
	for _, src := range d.sources {
		for cpu := range src.reader.Rings() {
			if err := d.readLast(src, cpu); err != nil {
				return err
			}
		}
	}
	if err := d.clock.Refresh(); err != nil {
		return err
	}
	err := d.merger.Flush(func(r event.Record) error {
		if err := d.show(r); err != nil && !errors.Is(err, ErrEnough) {
			return err
		}
		return nil // what is not shown any more still is counted
	})
	if err != nil {
		return err
	}
	if e, ok := d.sink.(Ender); ok {
		if err := e.End(); err != nil {
			return err
		}
	}
	return d.sink.Flush()
}

// Settle reads and shows all remaining records. There must be no writers.
func (d *Drain) Settle() error {
	for more := true; more; {
		var err error
		if more, err = d.Poll(); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.merger.Flush(d.show); err != nil {
		return err
	}
	return d.sink.Flush()
}

// ReadToEnd reads the rings of the kernel engine to their end, when its programs have been
// detached, and shows nothing: what it reads waits for its order.
func (d *Drain) ReadToEnd() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sample(); err != nil {
		return err
	}
	for _, src := range d.sources {
		for cpu := range src.reader.Rings() {
			if !src.Kernel {
				continue
			}
			if err := d.readLast(src, cpu); err != nil {
				return err
			}
		}
	}
	return d.clock.Refresh()
}

// Recorded is how many records of a site have come so far: those shown, those that wait for
// their order, and those that were still in the rings.
func (d *Drain) Recorded(src *Source, site uint32) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.look()
	n := src.recorded[site]
	d.merger.Each(func(r event.Record) {
		if d.sourceOf(r.CPU) == src && r.Site() == site {
			n++
		}
	})
	return n, err
}

// Complete is a time up to which the sink has been given all events: no older one is still to
// come. It is in nanoseconds of CLOCK_MONOTONIC if an engine is the kernel's, else in ticks.
func (d *Drain) Complete() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.merger.Complete()
}

// sample refreshes the clock before Add converts the first stamp, because a converted time is final.
func (d *Drain) sample() error {
	if d.merger.Key == nil {
		return nil
	}
	return d.clock.Refresh()
}

// settle reads a ring of the kernel engine to its end. A program that was running
// when its probe was detached commits within microseconds; no writer ever dies.
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

// namesEvery is the interval at which the names of threads are read: threads name themselves some time after
// their birth (pthread_setname_np), and a tracer gets no event for it.
const namesEvery = 250 * time.Millisecond

func (d *Drain) rename() {
	src := d.process()
	if src == nil {
		return
	}
	if time.Since(d.renamed) < namesEvery {
		return
	}
	d.renamed = time.Now()
	src.counters.Sample(src.decoder.Schemas)
	for tid, old := range d.names {
		name := Comm(src.decoder.Pid, tid)
		if name != "" && name != old {
			src.decoder.Threads.Renamed(tid, name, event.TSC())
		}
	}
	clear(d.names)
	d.noted = [16]named{}
	// Records wait no longer than event.Hold; programs that make threads by the million
	// must not fill our memory with those long dead.
	if now, old := event.TSC(), d.clock.Ticks(remembered); now > old {
		src.decoder.Threads.Forget(now - old)
	}
}

// process is the source of the in-process engine, nil when there is none.
func (d *Drain) process() *Source {
	for _, src := range d.sources {
		if !src.Kernel {
			return src
		}
	}
	return nil
}

// remembered is how long dead threads are kept for records of theirs.
const remembered = 20 * event.Hold

// named is a thread and its name.
type named struct {
	tid  int
	comm string
}

// note keeps the name of the thread of a record; most are noted already.
func (d *Drain) note(n named) {
	if last := &d.noted[n.tid&15]; *last != n {
		*last = n
		d.names[n.tid] = n.comm
	}
}

func (d *Drain) show(r event.Record) error {
	src := d.sourceOf(r.CPU)
	r.CPU -= src.first
	if err := src.decoder.Decode(r, &d.ev); err != nil {
		return nil // counted by the reader as damage; a traced program can write anything
	}
	src.recorded[r.Site()]++
	if !src.Kernel {
		d.note(named{d.ev.Tid, d.ev.Comm})
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
			d.Max = d.shown // nothing after the last pass
			return ErrEnough
		}
	}
	if !d.ending && d.isLate() {
		return errTurn
	}
	return nil
}

// isLate reports at every 16th event whether no more should be shown now: most events are
// shown in less than a microsecond. At the end it waits for the sink's reader.
func (d *Drain) isLate() bool {
	if d.asked++; d.asked%16 != 0 {
		return false
	}
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

// Sources are the rings that are read.
func (d *Drain) Sources() []*Source { return d.sources }

// Late is how many records came too late to be shown in the order of time.
func (d *Drain) Late() uint64 { return d.merger.Late }

// Unshown is how many events Finish has counted, and not shown or not written.
func (d *Drain) Unshown() uint64 { return d.unshown }

// Stats are what the reader has found in the rings.
func (src *Source) Stats() ring.Stats { return src.reader.Stats() }

// Sites are the counters of the sites with schemas.
func (src *Source) Sites() []event.SiteSummary {
	return src.counters.Sites(src.decoder.Schemas, src.recorded)
}

// Comm is the name of a thread; "" when it is not known.
func Comm(pid, tid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
