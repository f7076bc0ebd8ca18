package kernel

import (
	"errors"
	"os"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// named finds static tracepoints with an event in tracefs: by their raw arguments,
// and by the record that the kernel makes of them.
func (e *events) named(p *probe.Place, system, event string) ([]candidate, error) {
	fs, err := e.facts.tracefs()
	if err != nil {
		return nil, err
	}
	names, err := fs.Match(system, event)
	if err != nil {
		return nil, err
	}
	if len(names) > maxSites {
		return nil, tooMany(p)
	}
	var out []candidate
	for _, n := range names {
		place := p.Text
		if len(names) > 1 {
			place = "tracepoint:" + n.String()
		}
		c := candidate{place: place, function: n.String(), tracepoint: n.Event}
		if raw, err := e.rawVariant(n.Event); err == nil {
			c.variants = append(c.variants, raw)
		} else {
			e.logf("%s: no raw arguments: %v", c.function, err)
		}
		rec, err := e.recordVariant(fs, n)
		if err != nil {
			return nil, err
		}
		c.variants = append(c.variants, rec)
		out = append(out, c)
	}
	return out, nil
}

// rawVariant is a tracepoint by its raw arguments, whose names and types BTF has.
func (e *events) rawVariant(event string) (variant, error) {
	b, err := e.facts.btf()
	if err != nil {
		return variant{}, err
	}
	scope, err := b.TracepointScope(event)
	if err != nil {
		return variant{}, err
	}
	return variant{
		how: "raw tracepoint", target: bpf.Target{Kind: bpf.RawTracepoint, Name: event},
		context: ebpf.Args, scope: scope, kernel: sema.KernelInput{Context: sema.ContextArgs},
	}, nil
}

// recordVariant is a tracepoint by the record that the kernel makes for it.
func (e *events) recordVariant(fs *tracefs.FS, n tracefs.Name) (variant, error) {
	ev, err := fs.Event(n.System, n.Event)
	if err != nil {
		return variant{}, err
	}
	scope := e.facts.recordScope(ev)
	return variant{
		how: "tracepoint", target: bpf.Target{Kind: bpf.Tracepoint, Group: n.System, Name: n.Event},
		context: ebpf.Record, scope: scope,
		kernel: sema.KernelInput{Context: sema.ContextRecord, SData: e.facts.sdata(ev)},
		event:  ev,
	}, nil
}

// rawTracepoints finds tracepoints that need no event in tracefs.
func (e *events) rawTracepoints(p *probe.Place) ([]candidate, error) {
	b, err := e.facts.btf()
	if err != nil {
		return nil, err
	}
	if p.Module != "" {
		if _, err := os.Stat("/sys/module/" + p.Module); err != nil {
			return nil, &debuginfo.NotFoundError{What: "module", Name: p.Module, Hint: "/sys/module lists those that are loaded"}
		}
	}
	if !p.Glob() { // to list all of them takes its time
		if v, err := e.rawVariant(p.Event); err == nil {
			return []candidate{{place: p.Text, function: p.Event, tracepoint: p.Event, variants: []variant{v}}}, nil
		}
	}
	names, err := b.Tracepoints(p.Event)
	if err != nil {
		return nil, nearTracepoint(b, p, err)
	}
	if len(names) > maxSites {
		return nil, tooMany(p)
	}
	var out []candidate
	for _, n := range names {
		v, err := e.rawVariant(n)
		if err != nil {
			return nil, err
		}
		place := p.Text
		if len(names) > 1 {
			place = "rawtracepoint:" + n
		}
		out = append(out, candidate{place: place, function: n, tracepoint: n, variants: []variant{v}})
	}
	return out, nil
}

// iterators finds an iterator of the kernel.
func (e *events) iterators(p *probe.Place) ([]candidate, error) {
	b, err := e.facts.btf()
	if err != nil {
		return nil, err
	}
	scope, err := b.IteratorScope(p.Event)
	if err != nil {
		return nil, err
	}
	return []candidate{{place: p.Text, function: p.Event, variants: []variant{{
		how: "iterator", target: bpf.Target{Kind: bpf.Iter, Name: p.Event},
		context: ebpf.Args, scope: scope, kernel: sema.KernelInput{Context: sema.ContextArgs},
	}}}}, nil
}

// nearTracepoint adds names like the one that is not there.
func nearTracepoint(b *btf.Kernel, p *probe.Place, err error) error {
	var nf *debuginfo.NotFoundError
	if p.Glob() || !errors.As(err, &nf) || len(nf.Why().Nearest) > 0 {
		return err
	}
	if all, lerr := b.Tracepoints("*"); lerr == nil {
		near := *nf
		near.Nearest = lang.Nearest(p.Event, all, 3)
		return &near
	}
	return err
}
