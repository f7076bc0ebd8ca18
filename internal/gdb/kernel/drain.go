package kernel

import (
	"encoding/binary"
	"errors"
	"runtime"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// apart is how long the second record of a hit may come after the first.
const apart = 250 * time.Millisecond

// drain reads the rings of a run and puts hits in the order of time.
type drain struct {
	mem    *ring.Shared
	reader *ring.Reader
	merger *event.Merger
	by     map[uint32]*site // by number of the site: its first program's
	second map[uint32]*site // the same of second programs
	buf    []byte
	queue  []*waiting // in the order of time: a hit that lacks its second record, and what follows
}

// waiting is a hit that has not been given out.
type waiting struct {
	st     *site
	time   uint64 // CLOCK_MONOTONIC, ns
	cpu    int
	thread uint64
	token  uint64 // of the second record that it waits for; 0: none
	record []byte
}

func newDrain(mem *ring.Shared) *drain {
	d := &drain{mem: mem, reader: ring.NewReader(mem), by: map[uint32]*site{}, second: map[uint32]*site{}}
	d.merger = event.NewMerger(d.reader.Rings())
	d.merger.Slack, d.merger.Hold, d.merger.Limit = uint64(event.Slack), uint64(event.Hold), event.MaxWaiting
	return d
}

// add makes the records of a site known.
func (d *drain) add(st *site) {
	d.by[st.main.Schema.SiteID] = st
	d.reader.SetSize(st.main.Schema.SiteID, st.layout.RecordSize)
	if st.own != nil {
		d.second[st.own.Schema.SiteID] = st
	}
}

// poll reads every ring once. When too much waits already, the rings keep what they
// have, and count what has no room. all says that nothing was left in the rings.
func (d *drain) poll() (all bool) {
	if d.merger.Waiting() > event.MaxWaiting {
		return false
	}
	all = true
	for cpu := range d.reader.Rings() {
		now := uint64(event.Monotonic())
		var state ring.State
		d.buf, state = d.reader.Drain(cpu, d.buf[:0])
		d.take(cpu)
		d.merger.Looked(cpu, state, now)
		all = all && state == ring.Empty
	}
	return all
}

// settle reads the rings to their end. A program that was running when it was
// detached commits within microseconds.
func (d *drain) settle() {
	end := time.Now().Add(time.Second)
	for cpu := range d.reader.Rings() {
		for {
			var state ring.State
			d.buf, state = d.reader.Drain(cpu, d.buf[:0])
			d.take(cpu)
			if state == ring.Empty || time.Now().After(end) {
				break
			}
			runtime.Gosched()
		}
	}
}

// take counts the records that were read and hands them to the merger.
func (d *drain) take(cpu int) {
	for b := d.buf; len(b) >= ring.RecHeader; {
		size := int(binary.LittleEndian.Uint32(b[ring.RecSize:]))
		if size < ring.RecHeader || size > len(b) {
			break
		}
		if st := d.by[(event.Record{Data: b}).Site()]; st != nil {
			st.recorded++
		}
		b = b[size:]
	}
	d.merger.Add(cpu, d.buf)
}

// turn is how long one Drain gives hits out while the run goes on: GDB waits for its
// answers meanwhile.
const turn = 50 * time.Millisecond

var errTurn = errors.New("the turn is over")

// Drain gives the hits since the last call.
func (e *engine) Drain(final bool, f func(*experiment.Hit)) {
	d := e.drain
	if d == nil {
		return
	}
	e.giveBack()
	if final {
		d.settle()
		_ = d.merger.Flush(func(r event.Record) error { d.record(r, f, e.epoch); return nil })
		d.release(^uint64(0), f, e.epoch)
		return
	}
	all := d.poll()
	n, end := 0, time.Now().Add(turn)
	err := d.merger.Emit(func(r event.Record) error {
		d.record(r, f, e.epoch)
		if n++; n%64 == 0 && time.Now().After(end) {
			return errTurn
		}
		return nil
	})
	// A second record that was not read yet, or that waits for its turn, is not late.
	if now := uint64(event.Monotonic()); all && err == nil && now > uint64(event.Hold+apart) {
		d.release(now-uint64(event.Hold+apart), f, e.epoch)
	}
}

// record takes the next record in the order of time.
func (d *drain) record(r event.Record, f func(*experiment.Hit), epoch int64) {
	if st := d.second[r.Site()]; st != nil {
		d.complete(st, r)
		d.release(r.TSC-min(r.TSC, uint64(apart)), f, epoch)
		return
	}
	st := d.by[r.Site()]
	if st == nil || len(r.Data) < st.layout.RecordSize {
		return // damage
	}
	w := &waiting{st: st, time: r.TSC, cpu: r.CPU, thread: r.Thread(), record: r.Data}
	if data := counted(r.Data, st.static); st.own != nil && len(data) == tokenSize {
		w.token = binary.LittleEndian.Uint64(data)
	}
	if len(d.queue) == 0 && w.token == 0 {
		w.give(f, epoch)
		return
	}
	w.record = append([]byte(nil), r.Data...)
	d.queue = append(d.queue, w)
	d.release(r.TSC-min(r.TSC, uint64(apart)), f, epoch)
}

// complete finds the hit that a second record belongs to.
func (d *drain) complete(st *site, r event.Record) {
	if len(r.Data) < tokenAt+tokenSize {
		return
	}
	token := binary.LittleEndian.Uint64(r.Data[tokenAt:])
	for _, w := range d.queue {
		if w.st == st && w.token == token && w.token != 0 && w.thread == r.Thread() {
			w.complete(counted(r.Data, st.ownStatic))
			return
		}
	}
}

// release gives out the hits up to the first that still waits for its second record;
// those from before the time given wait no longer.
func (d *drain) release(before uint64, f func(*experiment.Hit), epoch int64) {
	n := 0
	for _, w := range d.queue {
		if w.token != 0 {
			if w.time >= before {
				break
			}
			w.st.halfLost++
			w.complete(nil)
		}
		w.give(f, epoch)
		n++
	}
	d.queue = d.queue[n:]
	if len(d.queue) == 0 {
		d.queue = nil
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

func (w *waiting) give(f func(*experiment.Hit), epoch int64) {
	h := &experiment.Hit{
		Spec: w.st.spec, Time: int64(w.time) + epoch, CPU: w.cpu, TID: int(uint32(w.thread)),
		Layout: w.st.layout, Record: w.record,
	}
	if w.st.text != nil {
		h.Text = w.st
	}
	f(h)
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
