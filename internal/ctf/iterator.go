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

// Iterator returns the events of a trace in the order of time. It keeps one packet of each stream in memory.
type Iterator struct {
	t     *Trace
	q     Query
	heap  []*cursor
	begun bool
	took  *cursor // whose event was returned last
	read  uint64
	bad   []string
}

// cursor reads the packets of a stream.
type cursor struct {
	s     *streamFile
	order int
	next  int // packet
	buf   []byte
	rest  []byte // of the packet
	time  uint64
	pid   int
	raws  [][]byte // by site
	ev    event.Event
	state *States
	name  threadName
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
	if !it.begun {
		if err := it.begin(); err != nil {
			return nil, err
		}
	} else if c := it.took; c != nil {
		ok, err := it.advance(c)
		if err != nil {
			return nil, err
		}
		if !ok {
			last := len(it.heap) - 1
			it.heap[0] = it.heap[last]
			it.heap = it.heap[:last]
		}
		it.down(0)
	}
	if len(it.heap) == 0 {
		it.took = nil
		return nil, io.EOF
	}
	it.took = it.heap[0]
	it.read++
	return &it.took.ev, nil
}

// Read is how many events Next has returned.
func (it *Iterator) Read() uint64 { return it.read }

// Damage has what could not be read.
func (it *Iterator) Damage() []string { return it.bad }

func (it *Iterator) begin() error {
	it.begun = true
	for i, s := range it.t.streams {
		if s.class == State {
			continue
		}
		c := &cursor{s: s, order: i, state: it.t.State, raws: make([][]byte, len(s.chunk.sites[s.class]))}
		c.next, _ = slices.BinarySearchFunc(s.packets, it.q.From, func(p packet, from int64) int { return cmp.Compare(p.end, from) })
		ok, err := it.advance(c)
		if err != nil {
			return err
		}
		if ok {
			it.heap = append(it.heap, c)
		}
	}
	for i := len(it.heap)/2 - 1; i >= 0; i-- {
		it.down(i)
	}
	return nil
}

// advance reads the next event of a stream that is in the range.
func (it *Iterator) advance(c *cursor) (bool, error) {
	for {
		for len(c.rest) == 0 {
			if c.next == len(c.s.packets) || c.s.packets[c.next].begin > it.q.To {
				return false, nil
			}
			if err := c.load(&c.s.packets[c.next]); err != nil {
				return false, err
			}
			c.next++
		}
		if !c.event() {
			it.damaged(c)
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

func (it *Iterator) damaged(c *cursor) {
	if len(it.bad) < maxDamage {
		it.bad = append(it.bad, fmt.Sprintf("%s: packet %d has an event that cannot be; the rest of it is left out", c.s.name, c.next-1))
	}
}

func (c *cursor) load(p *packet) error {
	if cap(c.buf) < p.size {
		c.buf = make([]byte, p.size)
	}
	c.buf = c.buf[:p.size]
	if _, err := c.s.file.ReadAt(c.buf, p.at); err != nil {
		return fmt.Errorf("%s: reading a packet: %w", c.s.name, err)
	}
	c.rest, c.time, c.pid = c.buf[packetHead:], uint64(p.begin), p.pid
	return nil
}

// event reads an event from the rest of the packet. It reports false if no writer can have written it.
func (c *cursor) event() bool {
	id, ok := c.head()
	b := c.rest
	context := 4
	if c.s.class == Kernel {
		context = 8
	}
	sites := c.s.chunk.sites[c.s.class]
	if !ok || len(b) < context || uint64(id) >= uint64(len(sites)) || sites[id] == nil || c.time > math.MaxInt64 {
		return false
	}
	x := sites[id]
	tid, pid := int(int32(binary.LittleEndian.Uint32(b))), c.pid
	if context == 8 {
		pid = int(int32(binary.LittleEndian.Uint32(b[4:])))
	}
	raw := c.raws[id]
	if raw == nil {
		raw = newRaw(x)
		c.raws[id] = raw
	} else if !x.plan.plain {
		clear(raw[ring.RecHeader:])
	}
	if c.rest, ok = x.plan.decode(raw, b[context:]); !ok {
		return false
	}
	time := int64(c.time)
	c.ev = event.Event{TimeNS: time, TSC: c.time, CPU: c.s.cpu, Pid: pid, Tid: tid, Schema: x.schema, Raw: raw, Comm: c.comm(tid, time)}
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
	if c.s.chunk.large[c.s.class] {
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

// comm is the name of a thread at a time.
func (c *cursor) comm(tid int, at int64) string {
	if n := &c.name; n.tid == tid && n.from <= at && at < n.to {
		return n.name
	}
	list := c.state.threads[tid]
	n := threadName{tid: tid, from: math.MinInt64, to: math.MaxInt64}
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
	c.name = n
	return n.name
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
