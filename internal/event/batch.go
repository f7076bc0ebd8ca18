package event

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/ring"
)

// Batch is what is common to records in a row of a ring: their thread, and the segment of the clock that has their times. With it a
// recorder takes many of them without an Event for each.
type Batch struct {
	Data    []byte // records; those that Holds reports belong to the batch, up to the first that does not
	Schemas []*Schema
	Pid     int
	Tid     int
	Comm    string

	thread   uint64
	from, to uint64 // stamps
	clock    segment
	kernel   bool   // of the kernel engine: stamps are nanoseconds
	name     []byte // kernel: the bytes of the thread's name in the records; nil: they have none
}

// Holds reports whether a record of this thread with this stamp is of the batch. Those of the kernel engine have the name too: see Named.
func (b *Batch) Holds(stamp, thread uint64) bool {
	return thread == b.thread && stamp >= b.from && stamp < b.to
}

// Named reports whether a record of a site with this Schema.CommOffset has the thread's name of the batch.
func (b *Batch) Named(rec []byte, commOffset int) bool {
	if commOffset == 0 || b.name == nil {
		return commOffset == 0 && b.name == nil
	}
	return len(rec) >= commOffset+commSize && string(rec[commOffset:commOffset+commSize]) == string(b.name)
}

// TimeNS is the time of a stamp that the batch holds.
func (b *Batch) TimeNS(stamp uint64) int64 {
	if b.kernel {
		return int64(stamp)
	}
	s := &b.clock
	return min(s.ns+int64(float64(stamp-s.from)*s.rate), s.end)
}

// KernelBatch is Batch for records of the kernel engine.
func (d *Decoder) KernelBatch(data []byte, b *Batch) (ok bool) {
	if len(data) < ring.RecHeader {
		return false
	}
	r := Record{Data: data}
	site := r.Site()
	if uint64(site) >= uint64(len(d.Schemas)) || d.Schemas[site] == nil {
		return false
	}
	ev := Event{Thread: r.Thread(), Schema: d.Schemas[site], Comm: d.Comm, Raw: data}
	d.kernel(&ev)
	*b = Batch{Data: data, Schemas: d.Schemas, Pid: ev.Pid, Tid: ev.Tid, Comm: ev.Comm, thread: ev.Thread, to: ^uint64(0), kernel: true}
	if at := ev.Schema.CommOffset; at > 0 {
		if b.name, ok = ev.slot(at, commSize); !ok {
			return false
		}
	}
	return true
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
