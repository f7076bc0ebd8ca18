package kernel

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Gate puts a tracepoint's condition before the perf users of its event: a hit
// for which it is false is kept from them (gdb-kgtp paper 4.2.3). It lasts until
// Close; see kernel.Gate for whom it concerns. The tracepoint has no collect list.
func (e *Engine) Gate(tp *tracepoint.Tracepoint) error {
	if !tp.Place.Kind.Gate {
		return probe.Error(tp.Place, errors.New("a gate stands before an event of tracefs: tracepoint:SYSTEM:EVENT"))
	}
	if err := e.permitted(); err != nil {
		return err
	}
	at, err := e.resolve(tp.Place)
	if err != nil {
		return err
	}
	for i := range at {
		s, err := e.gateSite(tp, &at[i])
		if err != nil {
			return err
		}
		e.sites = append(e.sites, s)
	}
	e.number()
	if err := e.makeBuffer(); err != nil {
		return err
	}
	for _, s := range e.sites {
		if err := e.gateOne(s); err != nil {
			return probe.Error(tp.Place, err)
		}
	}
	return nil
}

// gateSite compiles the condition on the event's record, or on the raw arguments
// by a program of its own that decides for the gate.
func (e *Engine) gateSite(tp *tracepoint.Tracepoint, c *candidate) (*site, error) {
	raw, rec := c.static()
	onRecord, _ := e.names(tp, c, rec)
	if raw != nil && len(onRecord.Missing) > 0 {
		if onArguments, _ := e.names(tp, c, raw); len(onArguments.Missing) == 0 {
			decider, err := e.half(tp, c, raw, decides)
			if err != nil {
				return nil, err
			}
			h, err := e.half(tp, c, rec, gatesOnWord)
			if err != nil {
				return nil, err
			}
			return e.site(tp, decider, h), nil
		}
	}
	h, err := e.half(tp, c, rec, gates)
	if err != nil {
		return nil, err
	}
	return e.site(tp, h), nil
}

func (e *Engine) gateOne(s *site) error {
	if len(s.halves) > 1 { // the decider is called first because it is attached first
		l := &load{halves: s.halves[:1], sites: []*site{s}}
		s.halves[0].load = l
		e.loads = append(e.loads, l)
		if err := e.loadOne(l); err != nil {
			return err
		}
		if err := e.attachOne(l, nil); err != nil {
			return err
		}
		if n, err := e.k.PerfUsers(s.halves[1].v.target.Group, s.halves[1].v.target.Name); err != nil {
			return err
		} else if n > 0 {
			return errors.New("a condition on raw arguments must be there before perf opens the event: start the gate first")
		}
	}
	h := s.halves[len(s.halves)-1]
	insns, err := e.code(s, h, e.config(s, h))
	if err != nil {
		return err
	}
	g, err := e.k.Gate(h.v.target.Group, h.v.target.Name, insns, e.buffer)
	if err != nil {
		return err
	}
	e.gates = append(e.gates, g)
	return nil
}

// Kept lists, by site, how many hits the gates kept from perf.
func (e *Engine) Kept() []event.SiteSummary {
	schemas := make([]*event.Schema, len(e.sites))
	for i, s := range e.sites {
		schemas[i] = s.schema
	}
	return event.NewCounters(e.mem).Sites(schemas, nil)
}
