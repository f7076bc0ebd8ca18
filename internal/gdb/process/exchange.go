package process

import (
	"errors"
	"fmt"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// A run that begins without a tracepoint that sets a variable is ended by the reader of the
// hits: see experiment.Stops. When such a tracepoint is added later, that would be too late:
// hits behind the last one would change the variables. Then all tracepoints get programs that
// end the run at the site.

// decide has all tracepoints end the run themselves, before s, the first one that sets a
// variable, is added. Where there is no variable left for the end, the reader goes on.
//
//  1. The new programs are made. If that fails, nothing has changed.
//  2. The old ones are taken out. A hit that is under way in a running thread still completes
//     its record, which the reader counts; threads that are stopped for GDB have none.
//  3. The tracer collects no hit meanwhile (deciding). From what was recorded and collected it
//     is known how many hits each tracepoint had, and how much room their frames take.
//  4. The variables get these values, and what the tracer collects is decided by them. A run
//     that has reached its end is over.
//  5. The new programs are put in. If one cannot be, the old ones are put in again.
func (e *engine) decide(s *experiment.Spec) error {
	stops := experiment.NewStops([]*experiment.Spec{s}, e.vars.reserve)
	if stops == nil {
		return nil
	}
	e.stops = stops
	for _, i := range []int64{stops.Flag, stops.Room} { // of an attempt before
		e.vars.put(e.run.rings(), i, 0)
	}
	old, fresh, err := e.remade()
	if err == nil {
		err = e.exchange(old, fresh)
	}
	if err == nil {
		return nil
	}
	e.stops = nil
	for _, a := range old {
		e.armed[a.spec] = a
	}
	for _, a := range e.armed {
		a.stop.Store(nil)
	}
	return fmt.Errorf("exchanging the programs of the other tracepoints, which must end the run at the site from now on: %w", err)
}

// remade makes new programs for the tracepoints that run in the process.
func (e *engine) remade() (old, fresh []*armed, err error) {
	for _, a := range e.armed {
		if a.prog != nil {
			old = append(old, a)
		}
	}
	if err := e.run.Refresh(); err != nil {
		return old, nil, err
	}
	for _, a := range old {
		b, err := e.prepare(a.spec)
		if err == nil {
			b.prog, err = e.program(b)
		}
		if err != nil {
			return old, fresh, err
		}
		b.before = a
		fresh = append(fresh, b)
	}
	return old, fresh, nil
}

// exchange puts new programs in the place of old ones, those that are armed.
func (e *engine) exchange(old, fresh []*armed) error {
	var off, on []*armed
	var progs []*contract.Program
	for i, a := range old {
		if a.on {
			off, on, progs = append(off, a), append(on, fresh[i]), append(progs, a.prog)
		}
	}
	if err := e.run.Remove(progs); err != nil {
		return err
	}
	for _, a := range off {
		a.on = false
		e.noteNative(a, false)
	}
	err := e.goOn()
	if err == nil {
		err = errors.Join(e.install(on)...)
	}
	if err != nil {
		return errors.Join(err, e.undo(off, on))
	}
	for i, a := range old {
		fresh[i].raised, a.raised = a.raised, false
	}
	for _, a := range on {
		e.noteNative(a, true)
	}
	return nil
}

// undo takes new programs out, and puts the old ones in again.
func (e *engine) undo(off, on []*armed) error {
	var progs []*contract.Program
	for _, a := range on {
		if a.on {
			progs = append(progs, a.prog)
		}
	}
	err := e.run.Remove(progs)
	e.stops = nil
	for _, a := range off {
		a.stop.Store(nil)
		err = errors.Join(err, e.remake(a, []*armed{a}))
		if a.on {
			e.noteNative(a, true)
		}
	}
	return err
}

// goOn sets the variables by which the run ends to where it is.
func (e *engine) goOn() error {
	e.deciding.Lock()
	defer e.deciding.Unlock()
	mem := e.run.rings()
	room, flag := e.room-e.given, uint64(0)
	e.mu.Lock()
	for i := range e.slow { // not given out yet
		room -= e.slow[i].cost()
	}
	e.mu.Unlock()
	for _, a := range e.armed {
		hits, waiting, err := e.hitsOf(a)
		if err != nil {
			return err
		}
		room -= waiting
		stop := e.stops.Of(a.spec)
		if stop != nil && stop.Pass > 0 {
			e.vars.put(mem, stop.Count, hits)
			if hits >= stop.Pass {
				flag = uint64(stop.Mark)
			}
		}
	}
	if room < 0 && flag == 0 {
		flag = experiment.Full
	}
	e.vars.put(mem, e.stops.Room, uint64(room))
	e.vars.put(mem, e.stops.Flag, flag)
	for _, a := range e.armed {
		a.stop.Store(e.stops.Of(a.spec))
	}
	return nil
}

// hitsOf is how many hits a tracepoint had of which there are frames, and what those of
// them cost that the rings, or the drain, still have.
func (e *engine) hitsOf(a *armed) (hits uint64, waiting int64, err error) {
	if a.slow != nil {
		return a.slow.counts().Hits, 0, nil
	}
	hits = a.here.counts().Hits
	if a.before != nil {
		a = a.before
		hits += a.here.counts().Hits
	}
	if e.records.src == nil || !a.loaded {
		return hits, 0, nil
	}
	n, err := e.records.Recorded(e.records.src, a.prog.Schema.SiteID)
	late := n - min(n, a.recorded)
	return hits + n, experiment.RecordsCost(late, late*uint64(a.lay.RecordSize)), err
}
