package kernel

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// timers are profile: and interval: places.
func (e *Engine) timers(p *probe.Place) ([]candidate, error) {
	t := bpf.Target{Kind: bpf.Profile, Frequency: p.Freq, Period: uint64(p.Period), Pid: e.opt.Tgid}
	if p.Kind == probe.Interval {
		t.Kind, t.Pid = bpf.Interval, 0
	}
	return e.counter(p, t)
}

// counters are software: and hardware: places. Without a count the kernel's usual
// periods are taken: each event, and a million of a processor's.
func (e *Engine) counters(p *probe.Place) ([]candidate, error) {
	t := bpf.Target{Kind: bpf.Software, Period: p.Count, Pid: e.opt.Tgid}
	names := bpf.SoftwareEvents
	if p.Kind == probe.Hardware {
		t.Kind, names = bpf.Hardware, bpf.HardwareEvents
	}
	config, ok := names[p.Event]
	if !ok {
		return nil, fmt.Errorf("the kernel has no %s event %q", t.Kind, p.Event)
	}
	t.Config = config
	if t.Period == 0 {
		t.Period = 1
		if t.Kind == bpf.Hardware || p.Event == "cpu-clock" || p.Event == "task-clock" {
			t.Period = 1_000_000
		}
	}
	return e.counter(p, t)
}

// counter is the one candidate of a place that counts: what was running then is
// in the registers.
func (e *Engine) counter(p *probe.Place, t bpf.Target) ([]candidate, error) {
	return []candidate{{
		place: p.Text, function: t.String(),
		variants: []variant{{
			how: t.Kind.String(), target: t, context: ebpf.Regs, scope: e.plainScope(),
			kin: sema.KernelInput{Context: sema.ContextRegs},
		}},
	}}, nil
}

// plainScope knows the kernel's types and globals, and no variables.
func (e *Engine) plainScope() debuginfo.Scope {
	b, err := e.src.btf()
	if err != nil {
		b = nil
	}
	return b.GlobalScope()
}
