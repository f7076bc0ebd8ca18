package process

import (
	"errors"
	"time"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/process"
)

// slowSlack is how long what the tracer collected waits for older records of the
// rings.
const slowSlack = 50 * time.Millisecond

// Drain implements experiment.Engine.
func (e *engine) Drain(final bool, f func(*experiment.Hit)) {
	r := e.records
	if r == nil {
		return
	}
	e.giveBack()
	settled := e.t.stopped
	var h experiment.Hit
	err := r.read(final, settled, func(a *armed, time int64, ev *event.Event) {
		if e.waiting.Load() {
			e.drainSlow(time, f)
		}
		h.Spec, h.Time, h.CPU, h.TID = a.spec, time, ev.CPU, ev.Tid
		h.Layout, h.Record, h.Text = a.lay, ev.Raw, a.text
		e.given += experiment.RecordsCost(1, uint64(len(ev.Raw)))
		f(&h)
	})
	if err != nil {
		e.t.log("reading the trace: %v", err)
	}
	if r.src != nil && e.run != nil && !final && !settled {
		if err := r.Unblock(r.src, e.run.Outside); err != nil && !errors.Is(err, process.ErrGone) && !errors.Is(err, contract.ErrReplaced) {
			e.t.log("reading the trace: %v", err)
		}
	}
	until := event.Monotonic() + r.clock.WallOffset() - int64(slowSlack)
	if final || settled || len(r.by) == 0 {
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
		e.given += x.cost()
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
	c := e.countsOf(run, a)
	if a.before != nil {
		b := e.countsOf(run, a.before)
		c = experiment.Counts{Hits: c.Hits + b.Hits, False: c.False + b.False, Faults: c.Faults + b.Faults, Lost: c.Lost + b.Lost}
	}
	return c
}

// countsOf are those of one that runs in the process.
func (e *engine) countsOf(run *run, a *armed) experiment.Counts {
	c, here := run.Counts(a.prog), a.here.counts()
	return experiment.Counts{Hits: a.recorded + c.Lost + here.Hits, False: c.False + here.False, Faults: c.Faults + here.Faults, Lost: c.Lost + here.Lost}
}
