package kernel

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Gate puts a tracepoint's condition before the perf users of its event: they do not receive hits for which
// it is false (gdb-kgtp paper 4.2.3). It is active until Close; bpf.Gate describes which users it affects.
// The tracepoint has no collect list.
func (e *Engine) Gate(tp *tracepoint.Tracepoint, how *engine.Compiling) error {
	if !tp.Place.Kind.Gate {
		return probe.Error(tp.Place, errors.New("a gate needs an event of tracefs: tracepoint:SYSTEM:EVENT"))
	}
	if err := e.Permitted(); err != nil {
		return err
	}
	at, err := e.resolve(tp.Place)
	if err != nil {
		return err
	}
	var list []*engine.Program
	for i := range at {
		p, err := e.gateProgram(tp, &Site{h: e.Host, candidate: at[i]}, how)
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	if err := e.reserve(list); err != nil {
		return err
	}
	for _, x := range list {
		p, err := e.number(x)
		if err == nil {
			err = e.gateOne(p)
		}
		if err != nil {
			return probe.Error(tp.Place, err)
		}
	}
	return nil
}

// gateProgram compiles the condition on the event's record. If only the raw arguments have its names, it
// compiles a separate program on these, which decides for the gate.
func (e *Engine) gateProgram(tp *tracepoint.Tracepoint, s *Site, how *engine.Compiling) (*engine.Program, error) {
	raw, rec := s.static()
	parts := []engine.Part{s.part(tp, rec, gates)}
	if cond, _ := e.names(tp, &s.candidate, rec); raw != nil && len(cond.Missing) > 0 {
		if cond, _ := e.names(tp, &s.candidate, raw); len(cond.Missing) == 0 {
			parts = []engine.Part{s.part(tp, raw, decides), s.part(tp, rec, gatesOnWord)}
		}
	}
	return how.Join(tp, tp, parts)
}

func (e *Engine) gateOne(p *program) error {
	target := &p.at.v.target
	if p.first != nil { // the decider is called first because it is attached first
		l := &load{programs: []*program{p.first}}
		p.first.load, p.first.on = l, true
		e.addLoad(l)
		if err := e.loader.loadOne(l); err != nil {
			return err
		}
		if refused, _ := e.attacher.attachOne(l, nil); refused != nil {
			return refused[p.first]
		}
		if n, err := e.k.PerfUsers(target.Group, target.Name); err != nil {
			return err
		} else if n > 0 {
			return &fail.Error{Op: "put a condition on raw arguments before perf", Err: errors.New("perf has opened the event already"), Remedy: "start the gate first"}
		}
	}
	insns, err := e.loader.code(p, e.loader.config(p))
	if err != nil {
		return err
	}
	g, err := e.k.Gate(target.Group, target.Name, insns, e.loader.mem.buffer)
	if err != nil {
		return err
	}
	e.gates = append(e.gates, g)
	return nil
}

// Kept lists, by site, how many hits the gates kept from perf.
func (e *Engine) Kept() []event.SiteSummary {
	schemas := make([]*event.Schema, len(e.programs))
	for i, p := range e.programs {
		schemas[i] = p.Schema
	}
	return event.NewCounters(e.loader.mem.shared).Sites(schemas, nil)
}
