package kernel

import (
	"encoding/binary"
	"time"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// records reads what the programs of a run have recorded. It is the sink of its drain, and
// puts the two records of a pair together.
type records struct {
	*drain.Drain
	src  *drain.Source
	by   map[*event.Schema]recorder
	last *event.Schema // hits come by the million each second,
	of   recorder      // mostly of one site many in a row
	// queue has a hit that lacks its second record, and the hits behind it, in the order
	// of time.
	queue []*waiting
	epoch int64 // the wall clock when CLOCK_MONOTONIC was 0, ns
	give  func(*experiment.Hit)
	hit   experiment.Hit
	cost  int64 // in the buffer, of the hits that were given out since SetRoom
}

// recorder is a program that makes records: the one of a site, or the second of a pair.
type recorder struct {
	st     *site
	second bool
}

// waiting is a hit that has not been given out.
type waiting struct {
	st     *site
	time   uint64 // CLOCK_MONOTONIC, ns
	cpu    int
	tid    int
	thread uint64
	token  uint64 // of the second record that it waits for; 0: none
	record []byte
}

// apart is how long the second record of a hit may come after the first.
const apart = uint64(250 * time.Millisecond)

func newRecords(mem *ring.Shared) (*records, error) {
	clock, err := event.NewClock()
	if err != nil {
		return nil, err
	}
	r := &records{by: map[*event.Schema]recorder{}, epoch: clock.WallOffset()}
	r.Drain = drain.New(clock, r)
	r.src = r.Add(mem, true, event.Decoder{})
	return r, nil
}

// know has the records of a site decoded.
func (r *records) know(st *site) {
	r.by[st.main.Schema] = recorder{st: st}
	r.AddSchema(r.src, st.main.Schema, nil)
	if st.own != nil {
		r.by[st.own.Schema] = recorder{st: st, second: true}
		r.AddSchema(r.src, st.own.Schema, nil)
	}
}

// read gives the hits since the last call whose order in time is known; final: all.
func (r *records) read(final bool, give func(*experiment.Hit)) (err error) {
	r.give = give
	defer func() { r.give = nil }()
	if final {
		err = r.Finish(nil)
		r.release(^uint64(0))
		return err
	}
	_, err = r.Poll()
	// A second record that waits in a ring, or for its turn, is not late.
	if done := r.Complete(); done > apart {
		r.release(done - apart)
	}
	return err
}

// recorded is how many records of a site's hits have come.
func (r *records) recorded(st *site) uint64 {
	n, err := r.Recorded(r.src, st.main.Schema.SiteID)
	if err != nil {
		st.e.log("reading the trace: %v", err)
	}
	return n
}

// Event implements drain.Sink.
func (r *records) Event(ev *event.Event) error {
	if ev.Schema != r.last {
		r.last, r.of = ev.Schema, r.by[ev.Schema]
	}
	st := r.of.st
	if r.of.second {
		r.complete(st, ev)
		r.release(ev.TSC - min(ev.TSC, apart))
		return nil
	}
	w := waiting{st: st, time: ev.TSC, cpu: ev.CPU, tid: ev.Tid, thread: ev.Thread, record: ev.Raw}
	if st.own != nil {
		if data := counted(ev.Raw, st.static); len(data) == tokenSize {
			w.token = binary.LittleEndian.Uint64(data)
		}
	}
	if len(r.queue) == 0 && w.token == 0 {
		r.out(&w)
		return nil
	}
	r.queue = append(r.queue, w.kept())
	r.release(ev.TSC - min(ev.TSC, apart))
	return nil
}

// Flush implements drain.Sink.
func (r *records) Flush() error { return nil }

// kept is a copy that outlives the event.
func (w waiting) kept() *waiting {
	w.record = append([]byte(nil), w.record...)
	return &w
}

// complete finds the hit that a second record belongs to.
func (r *records) complete(st *site, ev *event.Event) {
	if len(ev.Raw) < tokenAt+tokenSize {
		return
	}
	token := binary.LittleEndian.Uint64(ev.Raw[tokenAt:])
	for _, w := range r.queue {
		if w.st == st && w.token == token && w.token != 0 && w.thread == ev.Thread {
			w.complete(counted(ev.Raw, st.ownStatic))
			return
		}
	}
}

// release gives out the hits up to the first that still waits for its second record;
// those from before the time given wait no longer.
func (r *records) release(before uint64) {
	n := 0
	for _, w := range r.queue {
		if w.token != 0 {
			if w.time >= before {
				break
			}
			w.st.halfLost++
			w.complete(nil)
		}
		r.out(w)
		n++
	}
	r.queue = r.queue[n:]
	if len(r.queue) == 0 {
		r.queue = nil
	}
}

// complete puts the marker's own record in the place of the token.
func (w *waiting) complete(own []byte) {
	slot := w.record[w.st.static:]
	own = own[:min(len(own), len(slot)-ir.CountedHeader)]
	clear(slot[:ir.CountedHeader+tokenSize])
	binary.LittleEndian.PutUint32(slot, uint32(len(own)))
	copy(slot[ir.CountedHeader:], own)
	w.token = 0
}

// out gives out a hit.
func (r *records) out(w *waiting) {
	st := w.st
	r.hit = experiment.Hit{
		Spec: st.spec, Time: int64(w.time) + r.epoch, CPU: w.cpu, TID: w.tid, Layout: st.layout, Record: w.record,
	}
	if st.text != nil {
		r.hit.Text = st
	}
	st.given++
	r.cost += experiment.RecordsCost(1, uint64(len(w.record)))
	r.give(&r.hit)
}

// StaticText implements experiment.Texter: the kernel's own text of the marker's record,
// "" where that was lost.
func (st *site) StaticText(record []byte) string {
	own := counted(record, st.static)
	if len(own) == 0 {
		return ""
	}
	st.line = st.text.Line(st.line[:0], own, 0)
	return string(st.line)
}
