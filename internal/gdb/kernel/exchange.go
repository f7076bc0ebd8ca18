package kernel

import (
	"errors"
	"fmt"
	"slices"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// A run that begins without a tracepoint that sets a variable is ended by the reader of the
// hits: see experiment.Stops. When such a tracepoint is added later, that would be too late:
// hits behind the last one would change the variables. Then the programs of all tracepoints
// are exchanged for others, which end the run at the site.

// addDeciding makes the site of a tracepoint that is the first of the run to set a variable.
// Where the run has no variable left for the end, the reader goes on to decide.
func (e *engine) addDeciding(s *experiment.Spec) (*site, error) {
	old, taken := e.order, e.taken
	e.stops = experiment.NewStops([]*experiment.Spec{s}, e.reserve)
	st, err := e.make(s)
	if err == nil && e.stops != nil {
		if err = e.exchange(old); err != nil {
			delete(e.sites, s)
			err = fmt.Errorf("exchanging the programs of the other tracepoints, which must end the run at the site from now on: %w", err)
		}
	}
	if err != nil {
		e.stops, e.order, e.taken = nil, old, taken
		return nil, err
	}
	return st, nil
}

// exchange puts programs that decide in the place of those of some sites:
//
//  1. The new programs are loaded, which takes longest. If one is refused, nothing has changed.
//  2. The old ones are detached. The kernel waits until no CPU is in them: from here on no hit
//     comes, and no record.
//  3. The rings are read to their end. Now it is known how many hits each tracepoint had, and
//     how much room their frames take; they are given out later, in their order.
//  4. The variables get these values. A run that has reached its end is over for the new ones.
//  5. The new ones are attached. They do nothing yet, because of NotBegun: see Start. Then they go on.
//
// If 3 or 5 fails, the new ones are detached and the old ones attached again.
func (e *engine) exchange(old []*site) error {
	old = slices.Clone(old) // e.order begins with the same ones
	fresh, err := e.remade(old)
	if err != nil {
		return errors.Join(err, e.remove(fresh))
	}
	var on, replaced []*site
	for i, st := range old {
		if st.armed(st.last()) {
			on, replaced = append(on, fresh[i]), append(replaced, st)
		}
	}
	err = e.run.Detach(lasts(replaced))
	if err == nil {
		err = e.records.ReadToEnd()
	}
	if err == nil {
		flag := e.goOn(fresh)
		e.setFlag(experiment.NotBegun)
		err = joined(arm(on))
		e.setFlag(flag)
	}
	if err != nil {
		return errors.Join(err, e.remove(fresh), joined(arm(replaced)))
	}
	for i, st := range fresh {
		e.sites[st.spec], e.order[i] = st, st
	}
	return e.remove(old)
}

// remade are new sites for the tracepoints of others; with an error those that were made.
func (e *engine) remade(old []*site) (fresh []*site, err error) {
	for _, st := range old {
		again, err := e.prepare(st.spec)
		if err != nil {
			return fresh, err
		}
		again.before = st
		fresh = append(fresh, again)
	}
	return fresh, nil
}

// goOn sets the variables by which new programs end the run to where the old ones are, and
// gives the value of Flag for a run that has reached its end.
func (e *engine) goOn(fresh []*site) (flag uint64) {
	mem := e.run.Rings()
	room := e.room - e.records.cost
	for _, st := range fresh {
		hits := e.records.recorded(st.before)
		waiting := hits - st.before.given
		room -= experiment.RecordsCost(waiting, waiting*uint64(st.before.layout.RecordSize))
		stop := e.stops.Of(st.spec)
		if stop == nil || stop.Pass == 0 {
			continue
		}
		mem.SetVariable(int(stop.Count), hits)
		if hits >= stop.Pass {
			flag = uint64(stop.Mark)
		}
	}
	mem.SetVariable(int(e.stops.Room), uint64(room))
	if room < 0 && flag == 0 {
		flag = experiment.Full
	}
	return flag
}

// remove takes programs back for good.
func (e *engine) remove(list []*site) error { return e.run.Remove(lasts(list)) }

// lasts are the programs that complete the hits of sites.
func lasts(list []*site) (out []*contract.Program) {
	for _, st := range list {
		out = append(out, st.last())
	}
	return out
}

// joined is the result of arm as one error.
func joined(bad map[*site]error) error {
	var all []error
	for _, err := range bad {
		all = append(all, err)
	}
	return errors.Join(all...)
}
