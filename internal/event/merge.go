package event

import (
	"encoding/binary"
	"time"

	"github.com/jalon-trace/jalon/internal/ring"
)

// Limits for a Merger and the readers of its rings.
const (
	// Slack: how long a writer may be stopped between taking its stamp and reserving its record.
	Slack = 20 * time.Millisecond
	// Hold: records wait at most this long for a ring whose writer is stopped.
	Hold = 500 * time.Millisecond
	// MaxWaiting: a reader pauses while the records that wait for their order take this many bytes of memory;
	// Limit is half of it.
	MaxWaiting = 64 << 20
)

// Merger puts the records of all rings in the order of their stamps.
// Inside a ring the records are in the order of time, but for what processors reorder around their counters (and what
// the program overwrites): the records of each ring are sorted as they arrive. A writer may be stopped between its
// stamp and its reservation, if no other writes to the ring meanwhile. A record is emitted
// when each ring has either been seen empty at a time Slack after its stamp, or has had a record with a
// stamp Slack after it: then all further records of that ring were reserved later. A record that arrives
// even later is emitted at once and counted as late.
//
// The cycle is: for each ring { now = TSC(); Drain; Add; Looked(now) }; Emit.
//
// Limit keeps the cycle going: if a reader pauses because too many records wait, Emit must emit records
// until fewer wait. Otherwise the order of the waiting records would never become known.
type Merger struct {
	// Slack is the time, in ticks, that a writer may need from its stamp to its reservation.
	Slack uint64
	// Hold is the longest time, in ticks, that records wait for a ring whose writer does not commit (it may
	// be stopped); 0: no limit.
	Hold uint64
	// Limit bounds the bytes that wait; above it the oldest records are emitted. 0: no limit.
	Limit int
	// Key, if not nil, converts a stamp of a ring to a common unit of time. It is needed if rings have
	// stamps of different clocks. Slack, Hold and the times for Looked are then in that unit.
	Key func(ring int, stamp uint64) uint64
	// Possible is the range of valid keys. A stamp outside is moved to the end of the range. See
	// Event.Overwritten.
	Possible Span
	// Late counts the records that were emitted after a younger one.
	Late uint64

	queues  []queue
	heap    []int // rings with records, the ring with the oldest record first
	bytes   int   // of the records that wait, and their entries
	chunks  chunks
	pages   pages
	newest  uint64 // largest time at which a ring was read
	emitted uint64 // largest emitted stamp
}

type queue struct {
	entries        // sorted by key
	chunk   uint32 // to which records are added
	// known: all further records of the ring were reserved after this time. At this time the ring was seen
	// empty, or one of its records has this stamp.
	known uint64
	last  uint64 // the youngest record so far
}

type entry struct {
	key, stamp uint64
	chunk, off uint32
}

func (q *queue) oldest() uint64 { return q.at(q.head).key }

// NewMerger returns a Merger of this number of rings.
func NewMerger(rings int) *Merger {
	m := &Merger{}
	m.Grow(rings)
	return m
}

// Grow adds rings after the existing ones.
func (m *Merger) Grow(rings int) {
	for range rings {
		m.queues = append(m.queues, queue{chunk: noChunk})
	}
}

// Rekey changes the unit by which records are ordered, also of the records that wait. Slack, Hold and the
// times for Looked are in the new unit from then on.
func (m *Merger) Rekey(key func(ring int, stamp uint64) uint64, slack, hold uint64) {
	m.Key, m.Slack, m.Hold = key, slack, hold
	m.newest, m.emitted = 0, 0
	for i := range m.queues {
		q := &m.queues[i]
		q.known, q.last = 0, 0
		waiting := make([]entry, 0, q.len())
		for q.len() > 0 {
			waiting = append(waiting, *q.at(q.head))
			q.pop(&m.pages)
		}
		for _, e := range waiting {
			e.key = key(i, e.stamp)
			q.insert(e, &m.pages)
			q.last = max(q.last, e.key)
		}
	}
}

// Add adds the records that Drain returned for a ring; they are copied. A malformed tail (Drain returns
// none) is ignored.
func (m *Merger) Add(cpu int, data []byte) {
	if len(data) == 0 {
		return
	}
	q := &m.queues[cpu]
	off, run := 0, m.chunks.fill(q.chunk)
	for off+ring.RecHeader <= len(data) {
		size := int(binary.LittleEndian.Uint32(data[off+ring.RecSize:]))
		if size < ring.RecHeader || size > len(data)-off {
			break
		}
		stamp := binary.LittleEndian.Uint64(data[off+ring.RecTSC:])
		key := m.key(cpu, stamp)
		if !m.Possible.Holds(key) {
			key = m.Possible.To
		}
		e := entry{key: key, stamp: stamp}
		e.chunk, e.off = m.chunks.room(&run, data, off, size)
		q.insert(e, &m.pages)
		q.last = max(q.last, key)
		m.bytes += size + entrySize
		off += size
	}
	m.chunks.copy(&run, data[:off])
	q.chunk = run.to
}

func (m *Merger) key(cpu int, stamp uint64) uint64 {
	if m.Key == nil {
		return stamp
	}
	return m.Key(cpu, stamp)
}

// Looked reports the state of a ring at a Drain that began at now. Uncommitted records of a Pending ring
// were reserved after the returned records.
func (m *Merger) Looked(cpu int, state ring.State, now uint64) {
	q, known := &m.queues[cpu], now
	if state != ring.Empty {
		known = min(q.last, now)
	}
	q.known = max(q.known, known)
	m.newest = max(m.newest, now)
}

// Waiting returns the bytes of memory of the records that have not been emitted.
func (m *Merger) Waiting() int { return m.bytes }

// Records returns the number of records that have not been emitted.
func (m *Merger) Records() (n uint64) {
	for i := range m.queues {
		n += uint64(m.queues[i].len())
	}
	return n
}

// Each calls f with the records that have not been emitted, in no particular order.
func (m *Merger) Each(f func(Record)) {
	for i := range m.queues {
		q := &m.queues[i]
		for at := q.head; at < q.end; at++ {
			e := q.at(at)
			f(Record{CPU: i, TSC: e.stamp, Data: m.chunks.record(e.chunk, e.off)})
		}
	}
}

// Complete returns a time up to which all records have been emitted: no older one waits here or in a ring.
func (m *Merger) Complete() uint64 {
	if len(m.queues) == 0 {
		return 0
	}
	mark := ^uint64(0)
	for i := range m.queues {
		q := &m.queues[i]
		mark = min(mark, q.known-min(q.known, m.Slack))
		if q.len() > 0 {
			oldest := q.oldest()
			mark = min(mark, oldest-min(oldest, 1))
		}
	}
	return mark
}

// watermark returns the time up to which the order is known.
func (m *Merger) watermark() uint64 {
	mark := m.newest
	for i := range m.queues {
		mark = min(mark, m.queues[i].known)
	}
	mark -= min(mark, m.Slack)
	if m.Hold > 0 && m.newest > m.Hold {
		mark = max(mark, m.newest-m.Hold)
	}
	return mark
}

// Emit emits the records whose order is known, oldest first. It ends at the first error of f and returns
// it.
func (m *Merger) Emit(f func(Record) error) error { return m.emit(m.watermark(), m.Limit, f) }

// Flush emits all records: at the end, or when no more can arrive.
func (m *Merger) Flush(f func(Record) error) error { return m.emit(^uint64(0), 0, f) }

// EmitTo emits the records with a key up to mark.
func (m *Merger) EmitTo(mark uint64, f func(Record) error) error { return m.emit(mark, 0, f) }

// Youngest is the largest key of the records that a ring has had.
func (m *Merger) Youngest(cpu int) uint64 { return m.queues[cpu].last }

func (m *Merger) emit(mark uint64, limit int, f func(Record) error) error {
	m.heapify()
	for len(m.heap) > 0 {
		q := &m.queues[m.heap[0]]
		e := *q.at(q.head)
		if e.key > mark && (limit == 0 || m.bytes <= limit) {
			return nil
		}
		if e.key < m.emitted {
			m.Late++
		}
		m.emitted = max(m.emitted, e.key)
		data := m.chunks.record(e.chunk, e.off)
		m.bytes -= len(data) + entrySize
		q.pop(&m.pages)
		err := f(Record{CPU: m.heap[0], TSC: e.stamp, Data: data})
		if k := &m.chunks.list[e.chunk]; k.live > 1 {
			k.live--
		} else {
			m.chunks.done(e.chunk)
		}
		if q.len() == 0 {
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
		m.down(0)
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Merger) heapify() {
	m.heap = m.heap[:0]
	for i := range m.queues {
		if m.queues[i].len() > 0 {
			m.heap = append(m.heap, i)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

// before orders two rings. Equal stamps are ordered by ring number, so that the output is deterministic.
func (m *Merger) before(a, b int) bool {
	x, y := m.queues[a].oldest(), m.queues[b].oldest()
	return x < y || x == y && a < b
}

func (m *Merger) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(m.heap) {
			return
		}
		if c+1 < len(m.heap) && m.before(m.heap[c+1], m.heap[c]) {
			c++
		}
		if !m.before(m.heap[c], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[c] = m.heap[c], m.heap[i]
		i = c
	}
}
