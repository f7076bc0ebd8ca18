package kernel

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// timer is a profile: or interval: place.
func (e *timers) timer(p *probe.Place) ([]candidate, error) {
	return e.counting(p, bpf.Target{Kind: attachment(p), Frequency: p.Freq, Period: uint64(p.Period)})
}

// counter is a software: or hardware: place; without a count every period-th event.
func (e *timers) counter(p *probe.Place, period uint64) ([]candidate, error) {
	t := bpf.Target{Kind: attachment(p), Period: p.Count}
	config, ok := t.Kind.Event(p.Event)
	if !ok {
		return nil, fmt.Errorf("the kernel has no %s event %q", t.Kind, p.Event)
	}
	t.Config = config
	if t.Period == 0 {
		t.Period = period
	}
	return e.counting(p, t)
}

// counting returns the one candidate of a counter; the registers are those of the interrupted code.
func (e *timers) counting(p *probe.Place, t bpf.Target) ([]candidate, error) {
	switch {
	case !t.Kind.OfProcess():
	case e.opt.Counted != 0:
		t.Pid, t.Children = e.opt.Counted, true
	default:
		t.Pid, t.Children = e.opt.Tgid, e.opt.Follow && e.opt.Tgid != 0
	}
	return []candidate{{
		place: p.Text, function: t.String(),
		variants: []variant{{
			how: t.Kind.String(), target: t, context: ebpf.Regs, scope: e.facts.plainScope(),
			kernel: sema.KernelInput{Context: sema.ContextRegs},
		}},
	}}, nil
}
