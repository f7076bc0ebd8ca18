package session

import (
	"errors"
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

const (
	// The reader looks at the rings this often: rarely enough that it does not
	// run behind the writers, often enough that output feels immediate.
	pollEvery = 4 * time.Millisecond
	// A writer may be preempted between its stamp and its reservation for this long.
	slack = 20 * time.Millisecond
	// Records wait at most this long for a ring whose writer is stopped.
	hold = 500 * time.Millisecond
	// Records that wait for their order take at most this many bytes.
	maxWaiting = 256 << 20
)

// drain reads the rings, orders the records and hands them to the sink. Its
// methods are called from one goroutine; addSchema from any.
type drain struct {
	reader   *ring.Reader
	merger   *event.Merger
	clock    *event.Clock
	decoder  event.Decoder
	sink     Sink
	max      uint64 // events to show; 0 = all
	ringSize int
	passes   []*pass // by site; nil: without a passcount

	names   map[int]string // threads seen since names were looked at
	renamed time.Time

	mu       sync.Mutex // guards decoder.Schemas
	recorded []uint64   // by site
	shown    uint64
	buf      []byte
	ev       event.Event
}

func newDrain(shared *ring.Shared, clock *event.Clock, threads *event.Threads, pid int, comm string, sink Sink) *drain {
	d := &drain{
		names:    map[int]string{},
		ringSize: shared.RingSize(),
		reader:   ring.NewReader(shared), clock: clock, sink: sink,
		merger:   event.NewMerger(shared.Rings()),
		decoder:  event.Decoder{Clock: clock, Threads: threads, Pid: pid, Comm: comm, Schemas: make([]*event.Schema, shared.Sites())},
		recorded: make([]uint64, shared.Sites()),
		passes:   make([]*pass, shared.Sites()),
	}
	d.merger.Slack = clock.Ticks(slack)
	d.merger.Hold = clock.Ticks(hold)
	d.merger.Limit = maxWaiting
	return d
}

// pass counts down the hits that GDB's passcount allows a tracepoint; its sites
// share it.
type pass struct{ left int }

// addSchema makes a site's records known, before the site is armed. p may be nil.
func (d *drain) addSchema(s *event.Schema, p *pass) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.passes[s.SiteID] = p
	d.decoder.Schemas[s.SiteID] = s
	d.reader.SetSize(s.SiteID, s.RecordSize)
}

// dropSchema makes a site unknown again that was not armed after all.
func (d *drain) dropSchema(id uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.decoder.Schemas[id] = nil
}

// poll reads every ring once and shows what is in order. more says that a ring
// fills so fast that it should be looked at again at once.
func (d *drain) poll() (more bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for cpu := range d.reader.Rings() {
		now := event.TSC()
		var state ring.State
		d.buf, state = d.reader.Drain(cpu, d.buf[:0])
		d.merger.Add(cpu, d.buf)
		if state == ring.Empty {
			d.merger.Drained(cpu, now)
		}
		more = more || len(d.buf) > d.ringSize/8
	}
	if err := d.clock.Refresh(); err != nil {
		return more, err
	}
	d.rename()
	if err := d.merger.Emit(d.show); err != nil {
		return more, err
	}
	return more, d.sink.Flush()
}

// finish reads what is left when nobody writes any more.
func (d *drain) finish() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for cpu := range d.reader.Rings() {
		d.buf = d.reader.Recover(cpu, d.buf[:0])
		d.merger.Add(cpu, d.buf)
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

// namesEvery is how often the names of threads are looked at: they name themselves
// some time after their birth (pthread_setname_np), and nobody tells a tracer.
const namesEvery = 250 * time.Millisecond

func (d *drain) rename() {
	if time.Since(d.renamed) < namesEvery {
		return
	}
	d.renamed = time.Now()
	for tid, old := range d.names {
		name := comm(d.decoder.Pid, tid)
		if name != "" && name != old {
			d.decoder.Threads.Renamed(tid, name, event.TSC())
		}
	}
	clear(d.names)
	// Records wait no longer than hold; programs that make threads by the million
	// must not fill our memory with those long dead.
	if now, old := event.TSC(), d.clock.Ticks(remembered); now > old {
		d.decoder.Threads.Forget(now - old)
	}
}

// remembered is how long dead threads are kept for records of theirs.
const remembered = 20 * hold

func (d *drain) show(r event.Record) error {
	if err := d.decoder.Decode(r, &d.ev); err != nil {
		return nil // counted by the reader as damage; a traced program can write anything
	}
	d.recorded[r.Site()]++
	d.names[d.ev.Tid] = d.ev.Comm
	if d.max > 0 && d.shown >= d.max {
		return errEnough
	}
	d.shown++
	if err := d.sink.Event(&d.ev); err != nil {
		return err
	}
	if d.max > 0 && d.shown == d.max {
		return errEnough
	}
	if p := d.passes[r.Site()]; p != nil {
		if p.left--; p.left <= 0 {
			d.max = d.shown // nothing after the last pass
			return errEnough
		}
	}
	return nil
}
