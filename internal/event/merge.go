package event

import (
	"encoding/binary"
	"time"

	"github.com/jalon-trace/jalon/internal/ring"
)

// What readers of rings give a Merger.
const (
	// Slack: a writer may be preempted between its stamp and its reservation for this
	// long.
	Slack = 20 * time.Millisecond
	// Hold: records wait at most this long for a ring whose writer is stopped.
	Hold = 500 * time.Millisecond
	// MaxWaiting: a reader pauses while records that wait for their order take this many
	// bytes; Limit is half of it.
	MaxWaiting = 64 << 20
)

// Merger puts the records of all rings in the order of their stamps.
//
// Inside a ring the order is nearly that of time: a writer takes its stamp, may
// be preempted, and reserves its room later. So each ring's records are sorted
// as they arrive, and a record is given out when every ring has been seen empty
// at a time Slack after it, or has given a record with a stamp Slack after it: what
// such a ring holds still was reserved later. A record that comes later still is given
// out at once and counted as late.
//
// The cycle: for each ring { now = TSC(); Drain; Add; Looked(now) }; Emit.
//
// Limit keeps the cycle going: a reader that pauses while much waits must let Emit give
// out records below that amount, or the order of what waits would never be known.
type Merger struct {
	// Slack is how long, in ticks, a writer may need from its stamp to its reservation.
	Slack uint64
	// Hold bounds, in ticks, how long records wait for a ring whose writer
	// does not commit (it may be stopped); 0: without bound.
	Hold uint64
	// Limit bounds the bytes that wait; beyond it the oldest are given out. 0: without bound.
	Limit int
	// Key, when not nil, gives the place in time of a stamp of a ring, where
	// rings have stamps of different clocks; Slack, Hold and the times given to
	// Looked are then in its unit.
	Key func(ring int, stamp uint64) uint64
	// Possible bounds the stamps that Add believes, as keys; what lies outside takes
	// its place at the end of the span. See Event.Overwritten.
	Possible Span
	// Late counts the records given out after a younger one.
	Late uint64

	queues  []queue
	heap    []int // rings with records, the one with the oldest first
	bytes   int
	newest  uint64 // largest time at which a ring was read
	emitted uint64 // largest stamp given out
}

type queue struct {
	buf     []byte
	entries []entry // sorted by key
	head    int
	// known: what is still to come from the ring was reserved after this time, at which
	// it was seen empty or which a record of it has.
	known uint64
	last  uint64 // the youngest record that came
}

type entry struct {
	key, stamp uint64
	off, size  int
}

func (q *queue) oldest() uint64 { return q.entries[q.head].key }

// NewMerger returns a Merger of so many rings.
func NewMerger(rings int) *Merger { return &Merger{queues: make([]queue, rings)} }

// Grow adds rings, behind those there are.
func (m *Merger) Grow(rings int) { m.queues = append(m.queues, make([]queue, rings)...) }

// Rekey changes the unit in which records are ordered, and orders by it those that
// wait. Slack, Hold and the times given to Looked are in the new unit from here on.
func (m *Merger) Rekey(key func(ring int, stamp uint64) uint64, slack, hold uint64) {
	m.Key, m.Slack, m.Hold = key, slack, hold
	m.newest, m.emitted = 0, 0
	for i := range m.queues {
		q := &m.queues[i]
		q.known, q.last = 0, 0
		waiting := append([]entry(nil), q.entries[q.head:]...)
		q.entries, q.head = q.entries[:0], 0
		for _, e := range waiting {
			e.key = key(i, e.stamp)
			q.insert(e)
			q.last = max(q.last, e.key)
		}
	}
}

// Add takes the records that Drain returned for a ring; they are copied. A
// malformed tail (Drain returns none) is ignored.
func (m *Merger) Add(cpu int, data []byte) {
	if len(data) == 0 {
		return
	}
	q := &m.queues[cpu]
	q.compact()
	base := len(q.buf)
	q.buf = append(q.buf, data...)
	for off := 0; off+ring.RecHeader <= len(data); {
		size := int(binary.LittleEndian.Uint32(data[off+ring.RecSize:]))
		if size < ring.RecHeader || size > len(data)-off {
			break
		}
		stamp := binary.LittleEndian.Uint64(data[off+ring.RecTSC:])
		key := m.key(cpu, stamp)
		if !m.Possible.Holds(key) {
			key = m.Possible.To
		}
		q.insert(entry{key, stamp, base + off, size})
		q.last = max(q.last, key)
		m.bytes += size
		off += size
	}
}

func (m *Merger) key(cpu int, stamp uint64) uint64 {
	if m.Key == nil {
		return stamp
	}
	return m.Key(cpu, stamp)
}

// insert keeps entries sorted; equal stamps keep the order of the ring.
func (q *queue) insert(e entry) {
	q.entries = append(q.entries, e)
	i := len(q.entries) - 1
	for i > q.head && q.entries[i-1].key > e.key {
		q.entries[i] = q.entries[i-1]
		i--
	}
	q.entries[i] = e
}

// compact frees the room of what was given out, when that is the larger part.
func (q *queue) compact() {
	if q.head < len(q.entries)/2 || q.head == 0 {
		return
	}
	rest := q.entries[q.head:]
	if len(rest) == 0 {
		q.buf, q.entries, q.head = q.buf[:0], q.entries[:0], 0
		return
	}
	low, size := len(q.buf), 0
	for i := range rest {
		low, size = min(low, rest[i].off), size+rest[i].size
	}
	if len(q.buf)-low > 2*size {
		q.repack(rest, size) // a record that stays for long holds much that is gone
	} else {
		q.buf = q.buf[:copy(q.buf, q.buf[low:])]
		for i := range rest {
			rest[i].off -= low
		}
	}
	q.entries = q.entries[:copy(q.entries, rest)]
	q.head = 0
}

// repack copies records of that size together.
func (q *queue) repack(list []entry, size int) {
	buf := make([]byte, 0, size)
	for i := range list {
		e := &list[i]
		buf = append(buf, q.buf[e.off:e.off+e.size]...)
		e.off = len(buf) - e.size
	}
	q.buf = buf
}

// Looked reports how a Drain that began at now has found a ring. What a Pending one holds
// was reserved after the records that it gave.
func (m *Merger) Looked(cpu int, state ring.State, now uint64) {
	q, known := &m.queues[cpu], now
	if state != ring.Empty {
		known = min(q.last, now)
	}
	q.known = max(q.known, known)
	m.newest = max(m.newest, now)
}

// Waiting returns the bytes of the records that were not yet given out.
func (m *Merger) Waiting() int { return m.bytes }

// Records returns how many records were not yet given out.
func (m *Merger) Records() (n uint64) {
	for i := range m.queues {
		n += uint64(len(m.queues[i].entries) - m.queues[i].head)
	}
	return n
}

// Each gives the records that were not yet given out, in no order.
func (m *Merger) Each(f func(Record)) {
	for i := range m.queues {
		q := &m.queues[i]
		for _, e := range q.entries[q.head:] {
			f(Record{CPU: i, TSC: e.stamp, Data: q.buf[e.off : e.off+e.size]})
		}
	}
}

// Complete is a time up to which all records have been given out: no older one waits here or
// is still to be read from a ring.
func (m *Merger) Complete() uint64 {
	if len(m.queues) == 0 {
		return 0
	}
	mark := ^uint64(0)
	for i := range m.queues {
		q := &m.queues[i]
		mark = min(mark, q.known-min(q.known, m.Slack))
		if q.head < len(q.entries) {
			oldest := q.oldest()
			mark = min(mark, oldest-min(oldest, 1))
		}
	}
	return mark
}

// watermark is the time up to which the order is known.
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

// Emit gives out, oldest first, the records whose order is known. It ends at
// the first error of f and returns it.
func (m *Merger) Emit(f func(Record) error) error { return m.emit(m.watermark(), m.Limit, f) }

// Flush gives out everything: at the end, or when nothing more can come.
func (m *Merger) Flush(f func(Record) error) error { return m.emit(^uint64(0), 0, f) }

func (m *Merger) emit(mark uint64, limit int, f func(Record) error) error {
	m.heapify()
	for len(m.heap) > 0 {
		q := &m.queues[m.heap[0]]
		e := q.entries[q.head]
		if e.key > mark && (limit == 0 || m.bytes <= limit) {
			return nil
		}
		if e.key < m.emitted {
			m.Late++
		}
		m.emitted = max(m.emitted, e.key)
		m.bytes -= e.size
		q.head++
		err := f(Record{CPU: m.heap[0], TSC: e.stamp, Data: q.buf[e.off : e.off+e.size]})
		if q.head == len(q.entries) {
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
		if m.queues[i].head < len(m.queues[i].entries) {
			m.heap = append(m.heap, i)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

// before orders two rings; equal stamps by number, so that output is the same each time.
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
