package inferior

import (
	"github.com/jalon-trace/jalon/internal/agentexpr"
	"github.com/jalon-trace/jalon/internal/experiment"
)

// stops ends a run at the hit that reaches a pass count, in the process and in the
// tracer alike: see agentexpr.Stop. It is made for runs with pass counts whose programs
// set variables; for others it is soon enough to drop what comes behind the last hit.
type stops struct {
	flag   int64 // variables of the run
	counts map[*experiment.Spec]int64
	list   []*experiment.Spec // the flag's value is an index, from 1
}

// newStops is nil where no run needs it.
func newStops(v *variables, list []*experiment.Spec) *stops {
	pass, sets := false, false
	for _, s := range list {
		pass = pass || s.Pass > 0
		sets = sets || s.Program.SetsVariables() || agentexpr.SetVariables(s.StepActions)
	}
	if !pass || !sets {
		return nil
	}
	flag, ok := v.reserve()
	if !ok {
		return nil // then who drains the hits decides
	}
	return &stops{flag: flag, counts: map[*experiment.Spec]int64{}}
}

// of is what the program of a tracepoint is to do.
func (x *stops) of(v *variables, s *experiment.Spec) *agentexpr.Stop {
	if x == nil {
		return nil
	}
	if _, ok := x.counts[s]; !ok {
		n, room := v.reserve()
		if !room {
			return nil
		}
		x.counts[s] = n
		x.list = append(x.list, s)
	}
	mark := int64(0)
	for i, y := range x.list {
		if y == s {
			mark = int64(i + 1)
		}
	}
	return &agentexpr.Stop{Flag: x.flag, Mark: mark, Count: x.counts[s], Pass: s.Pass}
}

// Reached implements experiment.Engine.
func (e *engine) Reached() *experiment.Spec {
	if e.stops == nil {
		return nil
	}
	if n := e.vars.at(e.run.rings(), e.stops.flag); n > 0 && n <= uint64(len(e.stops.list)) {
		return e.stops.list[n-1]
	}
	return nil
}

// stopped reports whether the run is over for a thread that the tracer looks at.
func (pr *proc) stopped(a *armed) bool {
	return a.stop != nil && pr.t.engine.vars.at(pr.run.Load().rings(), a.stop.Flag) != 0
}

// passes takes a number for a hit that the tracer collects. ok is false for one behind
// the last; last says that it ends the run.
func (pr *proc) passes(a *armed) (ok, last bool) {
	if a.stop == nil || a.stop.Pass == 0 {
		return true, false
	}
	v, mem := &pr.t.engine.vars, pr.run.Load().rings()
	n := v.next(mem, a.stop.Count)
	if n+1 == a.stop.Pass {
		v.put(mem, a.stop.Flag, uint64(a.stop.Mark))
		return true, true
	}
	return n < a.stop.Pass, false
}
