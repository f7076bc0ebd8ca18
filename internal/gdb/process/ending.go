package process

import (
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// A run whose programs set variables ends at the very hit that reaches a pass count or
// finds the buffer full, in the process and in the tracer alike: see agentexpr.Stop.

// SetRoom implements experiment.Engine.
func (e *engine) SetRoom(bytes int64) {
	e.room, e.given = bytes, 0
	if e.stops != nil {
		e.vars.put(e.run.rings(), e.stops.Room, uint64(bytes))
	}
}

// giveBack adds to the room what hits have taken whose records the rings had no room for.
func (e *engine) giveBack() {
	if e.stops == nil || e.run == nil {
		return
	}
	for _, a := range e.armed {
		if a.prog == nil || a.lay == nil || a.stop.Load() == nil {
			continue
		}
		if lost := e.run.Counts(a.prog).Lost; lost > a.lost {
			n := lost - a.lost
			e.vars.fetchAdd(e.run.rings(), e.stops.Room, uint64(experiment.RecordsCost(n, n*uint64(a.lay.RecordSize))))
			a.lost = lost
		}
	}
}

// Ended implements experiment.Engine.
func (e *engine) Ended() experiment.Ending {
	if e.stops == nil {
		return experiment.Ending{}
	}
	return e.stops.Ending(e.vars.at(e.run.rings(), e.stops.Flag))
}

// stopped reports whether the run is over for a thread that the tracer looks at.
func (pr *proc) stopped(a *armed) bool {
	stop := a.stop.Load()
	return stop != nil && pr.t.engine.vars.at(pr.run.Load().rings(), stop.Flag) != 0
}

// passes takes a number for a hit that the tracer collects. ok is false after the last hit of the run; last
// reports that this is the last one.
func (pr *proc) passes(a *armed) (ok, last bool) {
	stop := a.stop.Load()
	if stop == nil || stop.Pass == 0 {
		return true, false
	}
	v, run := &pr.t.engine.vars, pr.run.Load().rings()
	n := v.fetchAdd(run, stop.Count, 1)
	if n+1 == stop.Pass {
		v.put(run, stop.Flag, uint64(stop.Mark))
		return true, true
	}
	return n < stop.Pass, false
}

// fits takes what a frame that the tracer has collected costs. false: there is no room
// for it, and the run is over.
func (pr *proc) fits(a *armed, f *agentexpr.Frame, step bool) bool {
	stop := a.stop.Load()
	if stop == nil {
		return true
	}
	v, run := &pr.t.engine.vars, pr.run.Load().rings()
	cost := a.cost(f)
	if int64(v.fetchAdd(run, stop.Room, uint64(-cost))) >= cost {
		return true
	}
	if step || v.at(run, stop.Flag) == 0 { // the steps of the hit that ends the run are over too
		v.put(run, stop.Flag, uint64(stop.Full))
	}
	return false
}

// cost is what a frame that the tracer has collected costs in the buffer.
func (a *armed) cost(f *agentexpr.Frame) int64 {
	text := ""
	if a.marker != nil {
		text = a.static(f)
	}
	return experiment.Cost(f, text)
}
