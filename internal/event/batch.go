package event

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ring"
)

// Batch is what is common to records in a row of the in-process engine: their thread, and the segment of the clock that has their
// times. With it a recorder takes many of them without an Event for each.
type Batch struct {
	Data    []byte // records; those that Holds reports belong to the batch, up to the first that does not
	Schemas []*Schema
	Pid     int
	Tid     int
	Comm    string

	thread   uint64
	from, to uint64 // stamps
	clock    segment
}

// Holds reports whether a record of this thread with this stamp is of the batch.
func (b *Batch) Holds(stamp, thread uint64) bool {
	return thread == b.thread && stamp >= b.from && stamp < b.to
}

// TimeNS is the time of a stamp that the batch holds.
func (b *Batch) TimeNS(stamp uint64) int64 {
	s := &b.clock
	return min(s.ns+int64(float64(stamp-s.from)*s.rate), s.end)
}

// Batch makes the batch of the first of these records. ok: there is one; else the record is decoded by itself.
func (d *Decoder) Batch(data []byte, b *Batch) (ok bool) {
	if len(data) < ring.RecHeader || d.Threads == nil || d.Clock == nil || d.Doubt != nil || d.Stamps != ring.ClockTSC {
		return false
	}
	stamp, tp := binary.LittleEndian.Uint64(data[ring.RecTSC:]), binary.LittleEndian.Uint64(data[ring.RecThread:])
	if !d.Possible.Holds(stamp) {
		return false
	}
	th, ok := d.Threads.lookup(&d.threads, tp, stamp)
	from, to, known := d.threads.period(tp)
	if !ok || !known || stamp < from || stamp >= to {
		return false
	}
	if stamp < d.segment.from || stamp >= d.segment.to {
		if d.segment = d.Clock.segment(stamp); d.segment.to == 0 {
			d.segment = d.Clock.ahead(stamp)
		}
	}
	s := &d.segment
	if stamp < s.from || stamp >= s.to {
		return false
	}
	*b = Batch{
		Data: data, Schemas: d.Schemas, Pid: d.Pid, Tid: th.Tid, Comm: th.Comm, thread: tp, clock: *s,
		from: max(from, s.from, d.Possible.From), to: min(to, s.to, d.Possible.To),
	}
	return stamp >= b.from && stamp < b.to
}
