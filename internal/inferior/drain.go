package inferior

import (
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/experiment"
	"github.com/jalon-trace/jalon/internal/session"
)

// slowSlack is how long what the tracer collected waits for older records of the
// rings.
const slowSlack = 50 * time.Millisecond

// Drain implements experiment.Engine.
func (e *engine) Drain(final bool, f func(*experiment.Hit)) {
	run := e.run
	if run == nil {
		run = e.last
	}
	if run == nil {
		return
	}
	mode := session.Ordered
	switch {
	case final:
		mode = session.Final
	case e.t.standing:
		mode = session.Settled
	}
	// Hits come by the million each second, mostly of one place many in a row.
	var h experiment.Hit
	var last *session.Program
	var a *armed
	err := run.Drain(mode, func(r session.Record) {
		if r.Program != last || a == nil {
			last, a = r.Program, e.by[r.Program]
		}
		if a == nil {
			return
		}
		if e.waiting.Load() {
			e.drainSlow(r.Time, f)
		}
		h.Spec, h.Time, h.CPU, h.TID = a.spec, r.Time, r.CPU, r.TID
		h.Layout, h.Record, h.Render = a.lay, r.Data, a.render
		f(&h)
	})
	if err != nil {
		e.t.log("reading the trace: %v", err)
	}
	until := event.Monotonic() + run.WallOffset() - int64(slowSlack)
	if mode != session.Ordered || len(e.by) == 0 {
		until = 1<<63 - 1
	}
	e.drainSlow(until, f)
}

// drainSlow gives what the tracer collected up to a time.
func (e *engine) drainSlow(until int64, f func(*experiment.Hit)) {
	e.mu.Lock()
	n := 0
	for n < len(e.slow) && e.slow[n].time <= until {
		n++
	}
	list := e.slow[:n:n]
	e.slow = e.slow[n:]
	e.waiting.Store(len(e.slow) > 0)
	e.mu.Unlock()
	for i := range list {
		x := &list[i]
		h := experiment.Hit{Spec: x.a.spec, Step: x.step, Time: x.time, CPU: -1, TID: x.tid, PC: x.pc, Frame: x.frame}
		if x.a.marker != nil {
			h.Static = x.a.static(x.frame)
		}
		f(&h)
	}
}

// Counts implements experiment.Engine.
func (e *engine) Counts(s *experiment.Spec) experiment.Counts {
	a := e.armed[s]
	run := e.run
	if run == nil {
		run = e.last
	}
	switch {
	case a == nil || run == nil:
		return experiment.Counts{}
	case a.slow != nil:
		return a.slow.counts()
	}
	recorded, falses, faults, lost := run.Counts(a.prog)
	here := a.here.counts()
	return experiment.Counts{Hits: recorded + lost + here.Hits, False: falses + here.False, Faults: faults + here.Faults, Lost: lost}
}
