package ctf

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Lane is a site whose payloads are made of the record alone: mostly bytes of it, and the work for an event is their copy.
type Lane struct {
	schema   *event.Schema // as the rings have it
	size     uint32        // of a record; 0: not such a site
	id       uint32
	from, to int
	plan     *plan // nil: the payload is the bytes [from, to)
}

// Lanes are the sites of a class of streams by their number in the rings.
type Lanes []Lane

// Set makes the lane of a site whose records have this schema in the rings. A site that has none keeps an empty one.
func (l *Lanes) Set(s *event.Schema, x *Site) {
	for uint64(len(*l)) <= uint64(s.SiteID) {
		*l = append(*l, Lane{})
	}
	p := x.plan
	lane := Lane{schema: s}
	if p.stacks == 0 && s.Elapsed == nil && s.ShortSize == 0 && s.StackNumber == 0 && s.RecordSize >= ring.RecHeader && p.from+p.size <= s.RecordSize {
		lane.size, lane.id, lane.from, lane.to = uint32(s.RecordSize), p.schema.SiteID, p.from, p.from+p.size
		if !p.plain {
			lane.plan = p
		}
	}
	(*l)[s.SiteID] = lane
}

// Plain adds the records of a batch up to the first that is not of it or of no lane, or until the packet is full. It counts them by their site in the rings, and returns
// their number and size.
func (s *Stream) Plain(b *event.Batch, lanes Lanes, counts []uint64) (n, size int) {
	data := b.Data
	for len(data) >= ring.RecHeader {
		head := binary.LittleEndian.Uint64(data)
		site := head>>32 - 1
		if site >= uint64(len(lanes)) || site >= uint64(len(b.Schemas)) {
			break
		}
		l := &lanes[site]
		stamp := binary.LittleEndian.Uint64(data[ring.RecTSC:])
		if uint32(head) != l.size || l.size == 0 || l.schema != b.Schemas[site] || uint64(l.size) > uint64(len(data)) ||
			!b.Holds(stamp, binary.LittleEndian.Uint64(data[ring.RecThread:])) || !b.Named(data[:l.size], l.schema.CommOffset) {
			break
		}
		buf := s.head(l.id, uint64(b.TimeNS(stamp)))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(b.Tid))
		if s.class == Kernel {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(b.Pid))
		}
		switch {
		case l.plan != nil:
			buf = l.plan.encode(buf, data[:l.size], nil)
		case l.to-l.from == 8:
			buf = binary.LittleEndian.AppendUint64(buf, binary.LittleEndian.Uint64(data[l.from:]))
		default:
			buf = append(buf, data[l.from:l.to]...)
		}
		s.buf = buf
		data = data[l.size:]
		more := 0
		if l.words() && s.class == Process && !s.large {
			more = s.words(b, l, head, data)
			data = data[more*int(l.size):]
		}
		counts[site] += 1 + uint64(more)
		n += 1 + more
		if len(s.buf) >= fullPacket {
			break
		}
	}
	return n, len(b.Data) - len(data)
}

// words reports whether the events of a lane in compact packets of a process have two words each: most hot places record 8 bytes.
func (l *Lane) words() bool {
	return l.plan == nil && l.to-l.from == 8 && l.id < 1<<compactIDs-1 && l.schema.CommOffset == 0
}

// words adds the records that follow one of a lane and have the same first word, up to the first that is not of the batch or needs another
// head, or until the packet is full. It does what Plain does, with less for each event.
func (s *Stream) words(b *event.Batch, l *Lane, head uint64, data []byte) (n int) {
	if !b.Named(nil, 0) {
		return 0
	}
	buf, at, last := s.buf[:cap(s.buf)], len(s.buf), s.last
	tid, size := uint64(uint32(b.Tid))<<32|uint64(l.id), int(l.size)
	for at < fullPacket && at+16 <= len(buf) && len(data) >= size && binary.LittleEndian.Uint64(data) == head {
		rec := data[:size]
		stamp := binary.LittleEndian.Uint64(rec[ring.RecTSC:])
		if !b.Holds(stamp, binary.LittleEndian.Uint64(rec[ring.RecThread:])) {
			break
		}
		time := uint64(b.TimeNS(stamp))
		if time < last || time-last >= 1<<compactTime {
			break
		}
		binary.LittleEndian.PutUint64(buf[at:], tid|uint64(uint32(time)<<compactIDs))
		binary.LittleEndian.PutUint64(buf[at+8:], binary.LittleEndian.Uint64(rec[l.from:]))
		at, last, data = at+16, time, data[size:]
		n++
	}
	s.buf, s.last = buf[:at], last
	return n
}
