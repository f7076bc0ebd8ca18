package session

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Sink takes the events of a session, in the order of time, and its summary.
type Sink interface {
	Event(*event.Event) error
	Summary(*event.Summary) error
	Flush() error
}

// errEnough ends a session that was asked for so many events only.
var errEnough = errors.New("enough events")

// errTurn: events are to be shown still, and something else comes first.
var errTurn = errors.New("the turn is over")

const (
	// The reader looks at the rings this often: rarely enough that it does not
	// run behind the writers, often enough that output feels immediate.
	pollEvery = 4 * time.Millisecond

	// showTurn is how long events are shown before somebody else has a turn: the user
	// may want to end, libraries are loaded. To show a stack takes long.
	showTurn = 50 * time.Millisecond
	// maxBacklog is how much may wait to be shown. What comes beyond it stays in the
	// rings, and is counted as lost when these are full.
	maxBacklog = 64 << 20
)

// drain reads the rings of both engines, orders the records and hands them to the
// sink. Its methods are called from one goroutine; addSchema from any.
type drain struct {
	merger  *event.Merger
	clock   *event.Clock
	sink    Sink
	max     uint64 // events to show; 0 = all
	sources []*source

	names   map[int]string // threads seen since names were looked at
	noted   [16]named      // the last of them, by the low bits of the number
	renamed time.Time

	mu    sync.Mutex // guards the sources' schemas
	shown uint64
	// late reports that it is time for something else; nil: it never is.
	late  func() bool
	asked uint8 // how often isLate was called
	// ending: after late, what is left is counted and not shown, in unshown.
	ending  bool
	unshown uint64
	buf     []byte
	ev      event.Event
}

// source is the rings of one engine.
type source struct {
	mem      *ring.Shared
	reader   *ring.Reader
	first    int // number of its first ring in the merger
	kernel   bool
	decoder  event.Decoder
	passes   []*pass  // by site; nil: without a passcount
	recorded []uint64 // by site
	counters *event.Counters
}

func newDrain(clock *event.Clock, sink Sink) *drain {
	d := &drain{names: map[int]string{}, clock: clock, sink: sink, merger: event.NewMerger(0)}
	d.merger.Slack = clock.Ticks(event.Slack)
	d.merger.Hold = clock.Ticks(event.Hold)
	d.merger.Limit = event.MaxWaiting
	return d
}

// add takes another engine's rings along; dec says how its records are decoded.
// The kernel's stamps are nanoseconds: with them all records are ordered by those.
func (d *drain) add(mem *ring.Shared, kernel bool, dec event.Decoder) *source {
	d.mu.Lock()
	defer d.mu.Unlock()
	dec.Clock = d.clock
	dec.Schemas = make([]*event.Schema, mem.Sites())
	src := &source{
		mem: mem, reader: ring.NewReader(mem), kernel: kernel, decoder: dec,
		passes: make([]*pass, mem.Sites()), recorded: make([]uint64, mem.Sites()),
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

func (d *drain) sourceOf(cpu int) *source {
	for i := len(d.sources) - 1; i > 0; i-- {
		if cpu >= d.sources[i].first {
			return d.sources[i]
		}
	}
	return d.sources[0]
}

// key is the time of a stamp in nanoseconds of CLOCK_MONOTONIC.
func (d *drain) key(cpu int, stamp uint64) uint64 {
	if d.sourceOf(cpu).kernel {
		return stamp
	}
	return uint64(d.clock.Mono(stamp))
}

// now is the present time in the merger's unit.
func (d *drain) now() uint64 {
	if d.merger.Key == nil {
		return event.TSC()
	}
	return uint64(event.Monotonic())
}

// pass counts down the hits that GDB's passcount allows a tracepoint; its sites
// share it.
type pass struct{ left int }

// addSchema makes a site's records known, before the site is armed. p may be nil.
func (d *drain) addSchema(src *source, s *event.Schema, p *pass) {
	d.mu.Lock()
	defer d.mu.Unlock()
	src.passes[s.SiteID] = p
	src.decoder.Schemas[s.SiteID] = s
	src.reader.SetSize(s.SiteID, s.RecordSize)
	src.reader.SetShort(s.SiteID, s.ShortSize)
}

// dropSchema makes a site unknown again that was not armed after all.
func (d *drain) dropSchema(src *source, id uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	src.decoder.Schemas[id] = nil
}

// poll reads every ring once and shows what is in order, for showTurn at most. more says
// that a ring fills so fast that it should be looked at again at once, or that more
// is to be shown.
func (d *drain) poll() (more bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sample(); err != nil {
		return false, err
	}
	if d.merger.Waiting() < maxBacklog {
		if more, err = d.readAll(); err != nil {
			return more, err
		}
	}
	if err := d.clock.Refresh(); err != nil {
		return more, err
	}
	d.rename()
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

// readAll reads every ring once.
func (d *drain) readAll() (more bool, err error) {
	for _, src := range d.sources {
		for cpu := range src.reader.Rings() {
			now := d.now()
			var state ring.State
			if state, err = d.read(src, cpu); err != nil {
				return more, err
			}
			if state == ring.Empty {
				d.merger.Drained(src.first+cpu, now)
			}
			more = more || len(d.buf) > src.mem.RingSize()/8
		}
	}
	return more, nil
}

// read gives the records of a ring to the merger.
func (d *drain) read(src *source, cpu int) (state ring.State, err error) {
	defer src.mem.Guard(&err)()
	d.buf, state = src.reader.Drain(cpu, d.buf[:0])
	d.take(src, cpu)
	return state, nil
}

// readLast is read of a ring that no code writes to any more.
func (d *drain) readLast(src *source, cpu int) (err error) {
	defer src.mem.Guard(&err)()
	if src.kernel {
		d.buf = src.settle(cpu, d.buf[:0])
	} else {
		d.buf = src.reader.Recover(cpu, d.buf[:0])
	}
	d.take(src, cpu)
	return nil
}

// take gives the records of d.buf, which a ring has just given, to the merger. Their
// stamps lie between the arming and now; the program can have written others.
func (d *drain) take(src *source, cpu int) {
	if len(d.buf) == 0 {
		return
	}
	d.merger.Possible = event.Span{}
	if !src.kernel {
		now, slack := event.TSC(), d.clock.Ticks(event.StampSlack)
		src.decoder.Possible.To = now + slack
		d.merger.Possible = src.decoder.Possible
		if d.merger.Key != nil {
			d.merger.Possible = event.Span{From: uint64(d.clock.Mono(src.decoder.Possible.From)), To: uint64(d.clock.Mono(now + slack))}
		}
	}
	d.merger.Add(src.first+cpu, d.buf)
}

// finish reads what is left when nobody writes any more. What has not been shown when
// late says so is counted only.
func (d *drain) finish(late func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
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
		if err := d.show(r); err != nil && !errors.Is(err, errEnough) {
			return err
		}
		return nil // what is not shown any more still is counted
	})
	if err != nil {
		return err
	}
	return d.sink.Flush()
}

// settle reads and shows everything that is there. Nobody writes meanwhile.
func (d *drain) settle() error {
	for more := true; more; {
		var err error
		if more, err = d.poll(); err != nil {
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

// sample refreshes the clock where Add converts stamps: before the first of them,
// because a time once told stays.
func (d *drain) sample() error {
	if d.merger.Key == nil {
		return nil
	}
	return d.clock.Refresh()
}

// settle reads a ring of the kernel engine to its end. A program that was running
// when its probe was detached commits within microseconds; no writer ever dies.
func (src *source) settle(cpu int, dst []byte) []byte {
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

// namesEvery is how often the names of threads are looked at: they name themselves
// some time after their birth (pthread_setname_np), and nobody tells a tracer.
const namesEvery = 250 * time.Millisecond

func (d *drain) rename() {
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
		name := comm(src.decoder.Pid, tid)
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
func (d *drain) process() *source {
	for _, src := range d.sources {
		if !src.kernel {
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
func (d *drain) note(n named) {
	if last := &d.noted[n.tid&15]; *last != n {
		*last = n
		d.names[n.tid] = n.comm
	}
}

func (d *drain) show(r event.Record) error {
	src := d.sourceOf(r.CPU)
	r.CPU -= src.first
	if err := src.decoder.Decode(r, &d.ev); err != nil {
		return nil // counted by the reader as damage; a traced program can write anything
	}
	src.recorded[r.Site()]++
	if !src.kernel {
		d.note(named{d.ev.Tid, d.ev.Comm})
	}
	switch {
	case d.max > 0 && d.shown >= d.max:
		return errEnough
	case d.unshown > 0 || d.ending && d.isLate():
		d.unshown++
		return nil
	}
	d.shown++
	if err := d.sink.Event(&d.ev); err != nil {
		return err
	}
	if d.max > 0 && d.shown == d.max {
		return errEnough
	}
	if p := src.passes[r.Site()]; p != nil {
		if p.left--; p.left <= 0 {
			d.max = d.shown // nothing after the last pass
			return errEnough
		}
	}
	if !d.ending && d.isLate() {
		return errTurn
	}
	return nil
}

// isLate asks late at every 16th event: most are shown in less than a microsecond.
func (d *drain) isLate() bool {
	d.asked++
	return d.asked%16 == 0 && d.late != nil && d.late()
}
