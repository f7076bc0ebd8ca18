package ctf

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Query selects events.
type Query struct {
	From, To int64 // CLOCK_MONOTONIC in nanoseconds, both included; To 0: to the end
}

// Iterator returns the events of a trace in the order of time. It keeps one packet of each stream that has events at that time in memory.
type Iterator struct {
	t     *Trace
	q     Query
	heap  []*cursor
	later []waiting // streams that begin later, the next one last
	begun bool
	took  *cursor // whose event was returned last
	until int64   // an event of took before this time is the next one of all
	spare [][]byte
	read  uint64
	bad   []string
}

// waiting is a stream that has no events before a time.
type waiting struct {
	s     *streamFile
	order int
	from  int64
}

// cursor reads the packets of a stream.
type cursor struct {
	s       *streamFile
	order   int
	next    int // packet
	buf     []byte
	rest    []byte // of the packet
	time    uint64
	pid     int
	large   bool
	context int // bytes between the head of an event and its payload
	lanes   []lane
	site    *siteReader // of ev
	ev      event.Event
	state   *States
	names   [16]threadName // by the low bits of their numbers
}

// lane is a site of a cursor with the record that its events share.
type lane struct {
	site *siteReader
	raw  []byte // nil: there was no event
}

// threadName is the name that a thread has in [from, to).
type threadName struct {
	tid      int
	from, to int64
	name     string
}

// Events returns the events of a query.
func (t *Trace) Events(q Query) *Iterator {
	if q.To == 0 {
		q.To = math.MaxInt64
	}
	return &Iterator{t: t, q: q}
}

// Next returns the next event, valid until the next call; io.EOF behind the last one.
func (it *Iterator) Next() (*event.Event, error) {
	if c := it.took; c != nil {
		ok, err := it.advance(c)
		if err != nil {
			return nil, err
		}
		if ok && c.ev.TimeNS < it.until {
			it.read++
			return &c.ev, nil
		}
		if !ok {
			it.leave(c)
		}
		it.down(0)
	} else if !it.begun {
		it.begin()
	}
	if err := it.enter(); err != nil {
		return nil, err
	}
	if len(it.heap) == 0 {
		it.took = nil
		return nil, io.EOF
	}
	it.took, it.until = it.heap[0], it.bound()
	it.read++
	return &it.took.ev, nil
}

// Site is the number of the schema of the event that Next returned last, below Trace.Sites.
func (it *Iterator) Site() int { return it.took.site.index }

// Sites is the number of schemas.
func (t *Trace) Sites() int { return len(t.index) }

// Read is how many events Next has returned.
func (it *Iterator) Read() uint64 { return it.read }

// Damage has what could not be read.
func (it *Iterator) Damage() []string { return it.bad }

// begin finds the streams that have packets in the range.
func (it *Iterator) begin() {
	it.begun = true
	for i, s := range it.t.streams {
		if s.class == State {
			continue
		}
		if n := s.packetFrom(it.q.From); n < len(s.packets) && s.packets[n].begin <= it.q.To {
			it.later = append(it.later, waiting{s, i, s.packets[n].begin})
		}
	}
	slices.SortFunc(it.later, func(a, b waiting) int { return -cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.order, b.order)) })
}

// packetFrom is the first packet that has events at a time or later.
func (s *streamFile) packetFrom(from int64) int {
	n, _ := slices.BinarySearchFunc(s.packets, from, func(p packet, from int64) int { return cmp.Compare(p.end, from) })
	return n
}

// enter begins the streams whose events may be the next ones.
func (it *Iterator) enter() error {
	for n := len(it.later) - 1; n >= 0 && (len(it.heap) == 0 || it.later[n].from <= it.heap[0].ev.TimeNS); n-- {
		w := it.later[n]
		it.later = it.later[:n]
		c := it.cursor(w)
		ok, err := it.advance(c)
		if err != nil {
			return err
		}
		if !ok {
			it.release(c)
			continue
		}
		it.heap = append(it.heap, c)
		it.up(len(it.heap) - 1)
	}
	return nil
}

func (it *Iterator) cursor(w waiting) *cursor {
	c := &cursor{s: w.s, order: w.order, state: it.t.State, next: w.s.packetFrom(it.q.From), large: w.s.chunk.large[w.s.class], context: 4}
	if w.s.class == Kernel {
		c.context = 8
	}
	sites := w.s.chunk.sites[w.s.class]
	c.lanes = make([]lane, len(sites))
	for i, x := range sites {
		c.lanes[i].site = x
	}
	if n := len(it.spare); n > 0 {
		c.buf, it.spare = it.spare[n-1], it.spare[:n-1]
	}
	return c
}

// leave removes the first stream, which has no more events.
func (it *Iterator) leave(c *cursor) {
	last := len(it.heap) - 1
	it.heap[0] = it.heap[last]
	it.heap[last] = nil
	it.heap = it.heap[:last]
	it.release(c)
}

// release keeps the memory of a cursor for others. Its last event stays valid.
func (it *Iterator) release(c *cursor) {
	it.spare = append(it.spare, c.buf)
	c.buf, c.rest = nil, nil
}

// bound is the time before which the events of the first stream are the next ones.
func (it *Iterator) bound() int64 {
	until := int64(math.MaxInt64)
	if n := len(it.later); n > 0 {
		until = it.later[n-1].from
	}
	for _, c := range it.heap[1:min(len(it.heap), 3)] {
		until = min(until, c.ev.TimeNS)
	}
	return until
}

// advance reads the next event of a stream that is in the range.
func (it *Iterator) advance(c *cursor) (bool, error) {
	for {
		for len(c.rest) == 0 {
			if c.next == len(c.s.packets) || c.s.packets[c.next].begin > it.q.To {
				return false, nil
			}
			p := &c.s.packets[c.next]
			c.next++
			ok, err := c.load(p)
			if err != nil {
				return false, err
			}
			if !ok {
				it.damaged(c, "is damaged; it is left out")
				c.rest = nil
			}
		}
		if !c.event() {
			it.damaged(c, "has an event that cannot be; the rest of it is left out")
			c.rest = nil
			continue
		}
		if c.ev.TimeNS > it.q.To {
			return false, nil
		}
		if c.ev.TimeNS >= it.q.From {
			return true, nil
		}
	}
}

const maxDamage = 100

func (it *Iterator) damaged(c *cursor, what string) {
	if len(it.bad) < maxDamage {
		it.bad = append(it.bad, fmt.Sprintf("%s: packet %d %s", c.s.name, c.next-1, what))
	}
}

// load reads a packet. It reports false if the packet is damaged.
func (c *cursor) load(p *packet) (ok bool, err error) {
	if cap(c.buf) < p.size {
		c.buf = make([]byte, p.size)
	}
	c.buf = c.buf[:p.size]
	if ok, err = c.s.read(p, c.buf); ok {
		c.rest, c.time, c.pid = c.buf[packetHead:], uint64(p.begin), p.pid
	}
	return ok, err
}

// read reads a packet to a buffer of its size. It reports false if the packet is damaged.
func (s *streamFile) read(p *packet, b []byte) (ok bool, err error) {
	if _, err := s.file.ReadAt(b, p.at); err != nil {
		if _, compressed := s.file.(*framesSource); compressed {
			return false, nil
		}
		return false, fmt.Errorf("%s: reading a packet: %w", s.name, err)
	}
	return !s.chunk.checked || contentSum(b) == p.sum, nil
}

// event reads an event from the rest of the packet. It reports false if no writer can have written it.
func (c *cursor) event() bool {
	id, ok := c.head()
	b := c.rest
	if !ok || len(b) < c.context || uint64(id) >= uint64(len(c.lanes)) || c.lanes[id].site == nil || c.time > math.MaxInt64 {
		return false
	}
	l := &c.lanes[id]
	x, p := l.site, l.site.plan
	tid, pid := int(int32(binary.LittleEndian.Uint32(b))), c.pid
	if c.context == 8 {
		pid = int(int32(binary.LittleEndian.Uint32(b[4:])))
	}
	if l.raw == nil {
		l.raw = newRaw(x)
	} else if !p.plain {
		clear(l.raw[ring.RecHeader:])
	}
	switch b = b[c.context:]; {
	case p.plain && p.size == 8 && len(b) >= 8: // two ints: no call
		binary.LittleEndian.PutUint64(l.raw[p.from:], binary.LittleEndian.Uint64(b))
		c.rest = b[8:]
	default:
		if c.rest, ok = p.decode(l.raw, b); !ok {
			return false
		}
	}
	ev, time := &c.ev, int64(c.time)
	if c.site != x { // few events are of another site than the one before them
		c.site = x
		ev.Schema, ev.Raw, ev.CPU = x.schema, l.raw, c.s.cpu
	}
	n := &c.names[uint(tid)%uint(len(c.names))]
	if n.tid != tid || time < n.from || time >= n.to {
		c.name(n, tid, time)
	}
	if tid != ev.Tid || n.name != ev.Comm {
		ev.Tid, ev.Comm = tid, n.name
	}
	ev.TimeNS, ev.TSC, ev.Pid = time, c.time, pid
	return true
}

// newRaw returns a record without values, with room for the numbers of stacks behind it.
func newRaw(x *siteReader) []byte {
	raw := make([]byte, x.schema.RecordSize+4*x.plan.stacks)
	binary.LittleEndian.PutUint32(raw[ring.RecSize:], uint32(x.schema.RecordSize))
	binary.LittleEndian.PutUint32(raw[ring.RecSite:], x.schema.SiteID+1)
	return raw
}

// head reads the head of an event.
func (c *cursor) head() (id uint32, ok bool) {
	b := c.rest
	if c.large {
		if len(b) < 6 {
			return 0, false
		}
		if id := binary.LittleEndian.Uint16(b); id != 1<<largeIDs-1 {
			c.time = wrap(c.time, uint64(binary.LittleEndian.Uint32(b[2:])), largeTime)
			c.rest = b[6:]
			return uint32(id), true
		}
		b = b[2:]
	} else {
		if len(b) < 4 {
			return 0, false
		}
		if word := binary.LittleEndian.Uint32(b); word&(1<<compactIDs-1) != 1<<compactIDs-1 {
			c.time = wrap(c.time, uint64(word>>compactIDs), compactTime)
			c.rest = b[4:]
			return word & (1<<compactIDs - 1), true
		}
		b = b[1:]
	}
	if len(b) < 12 {
		return 0, false
	}
	time := binary.LittleEndian.Uint64(b[4:])
	if time < c.time {
		return 0, false
	}
	c.time, c.rest = time, b[12:]
	return binary.LittleEndian.Uint32(b), true
}

// name finds the name of a thread at a time.
func (c *cursor) name(n *threadName, tid int, at int64) {
	*n = threadName{tid: tid, from: math.MinInt64, to: math.MaxInt64}
	list := c.state.names(tid)
	for i := range list {
		if i > 0 && list[i].Since > at {
			n.to = list[i].Since
			break
		}
		n.name = list[i].Name
		if i > 0 {
			n.from = list[i].Since
		}
	}
}

func before(a, b *cursor) bool {
	return a.ev.TimeNS < b.ev.TimeNS || a.ev.TimeNS == b.ev.TimeNS && a.order < b.order
}

func (it *Iterator) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(it.heap) {
			return
		}
		if c+1 < len(it.heap) && before(it.heap[c+1], it.heap[c]) {
			c++
		}
		if !before(it.heap[c], it.heap[i]) {
			return
		}
		it.heap[i], it.heap[c] = it.heap[c], it.heap[i]
		i = c
	}
}

func (it *Iterator) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !before(it.heap[i], it.heap[parent]) {
			return
		}
		it.heap[i], it.heap[parent] = it.heap[parent], it.heap[i]
		i = parent
	}
}
