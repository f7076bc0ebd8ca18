package session

import (
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// DrainMode says what of the rings Drain gives.
type DrainMode uint8

// The modes of Drain.
const (
	Ordered DrainMode = iota // threads run: records whose order in time is known
	Settled                  // no thread of the process runs: all records
	Final                    // after Stop: all, those of threads that were killed too
)

// Drain gives the records since the last call.
func (r *Run) Drain(mode DrainMode, f func(Record)) error {
	d := r.s.drain
	if d == nil || r.s.shared == nil {
		return nil
	}
	r.give = f
	defer func() { r.give = nil }()
	switch mode {
	case Final:
		return d.finish(nil)
	case Settled:
		return d.settle()
	}
	for start := time.Now(); ; {
		more, err := d.poll()
		if err != nil || !more || time.Since(start) > drainLimit {
			return err
		}
	}
}

// drainLimit is how long the caller is kept from other things by hits that come as
// fast as they are read; it is asked again soon.
const drainLimit = 20 * time.Millisecond

// Event implements Sink.
func (r *Run) Event(ev *event.Event) error {
	prog := r.s.sites[ev.Schema.SiteID].tp.program
	r.give(Record{Program: prog, Time: ev.TimeNS + r.s.clock.WallOffset(), CPU: ev.CPU, TID: ev.Tid, Data: ev.Raw})
	return nil
}

// Summary implements Sink; a run has none.
func (r *Run) Summary(*event.Summary) error { return nil }

// Flush implements Sink.
func (r *Run) Flush() error { return nil }

// Counts are the counters of a program so far: records read, and see package ring.
func (r *Run) Counts(x *Program) (recorded, falses, faults, lost uint64) {
	s := r.s
	if s.user == nil || s.shared == nil {
		return 0, 0, 0, 0
	}
	for id, y := range s.sites {
		if y.tp != x.tp {
			continue
		}
		recorded += s.user.recorded[id]
		falses += s.shared.mem.Counter(uint32(id), ring.CounterFalse)
		faults += s.shared.mem.Counter(uint32(id), ring.CounterCondFault)
		lost += s.shared.mem.Counter(uint32(id), ring.CounterLost)
	}
	return recorded, falses, faults, lost
}

// Variable and SetVariable read and write a variable of the programs; ok is false
// as long as no program is armed.
func (r *Run) Variable(index int) (v uint64, ok bool) {
	if r.s.shared == nil {
		return 0, false
	}
	return r.s.shared.mem.Variable(index), true
}

// SetVariable: see Variable.
func (r *Run) SetVariable(index int, v uint64) bool {
	if r.s.shared == nil {
		return false
	}
	r.s.shared.mem.SetVariable(index, v)
	return true
}

// ChangeVariable changes a variable from what was read to another value, beside the
// programs; see package ring.
func (r *Run) ChangeVariable(index int, was, now uint64) bool {
	if r.s.shared == nil {
		return false
	}
	r.s.shared.mem.ChangeVariable(index, was, now)
	return true
}

// NextVariable adds 1 to a variable beside the programs, and gives what it was before.
func (r *Run) NextVariable(index int) (v uint64, ok bool) {
	if r.s.shared == nil {
		return 0, false
	}
	return r.s.shared.mem.NextVariable(index), true
}

// Original puts the program's own bytes into b, which was read at addr.
func (r *Run) Original(addr uint64, b []byte) {
	if r.gone.Load() {
		return
	}
	r.s.placedMu.Lock()
	defer r.s.placedMu.Unlock()
	r.s.unpatched(addr, b)
}

// Tactic says how a program's site is reached; "" when it is not armed.
func (r *Run) Tactic(x *Program) string {
	for _, y := range r.s.sites {
		if y.tp == x.tp {
			return y.tactic
		}
	}
	return ""
}

// WallOffset turns CLOCK_MONOTONIC into the time of Records, nanoseconds.
func (r *Run) WallOffset() int64 { return r.s.clock.WallOffset() }
