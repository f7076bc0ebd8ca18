package kernel

import (
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/probe"
)

// Description describes a site before it is traced.
type Description struct {
	Place    string
	Function string
	File     string
	Line     int
	How      string
	// Args are the variables that a condition may use by their bare names: raw
	// arguments, parameters, the arguments of a static marker.
	Args []*debuginfo.Variable
	// Event is the format of a static tracepoint's own record, nil for others.
	Event *tracefs.Event
	// BehindCheck is how far the site is from its function's first instruction because a check of
	// Go's stack is between them.
	BehindCheck uint64
	Note        string // warning before it is armed, or ""
	Reached     string // how the kernel would come to a kprobe, or ""
}

// Inspect is a Host that describes places and attaches nothing; no privilege
// is needed for the files of the kernel that every user may read.
func Inspect(opt Options) *Host { return newHost(&base{opt: opt}) }

// Describe lists the sites that a place means.
func (e *Host) Describe(p *probe.Place) ([]Description, error) {
	list, err := e.resolve(p)
	if err != nil {
		return nil, err
	}
	var out []Description
	for i := range list {
		c := &list[i]
		d := Description{Place: c.place, Function: c.function, File: c.file, Line: c.line, How: c.variants[0].how, BehindCheck: c.behindCheck, Note: c.note}
		if !p.Glob() {
			d.Reached = e.wouldReach(&c.variants[0])
		}
		for _, v := range c.variants {
			if v.event != nil {
				d.Event = v.event
				continue
			}
			d.Args = append(d.Args, v.scope.Args()...)
		}
		out = append(out, d)
	}
	return out, nil
}

// ReadMemory reads n bytes of the kernel's memory by a program of eBPF; where a part
// cannot be read the error wraps EFAULT.
func (e *Host) ReadMemory(addr uint64, n int) ([]byte, error) { return e.k.ReadMemory(addr, n) }

// Address is that of a symbol of the kernel.
func (e *Host) Address(symbol string) (uint64, bool) { return e.facts.kernel.Address(symbol) }

// Facts lists what this kernel and user allow the kernel engine, for `jalon check`.
func Facts() ([]bpf.Fact, error) {
	k, err := bpf.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = k.Close() }()
	return k.Facts(), nil
}

// Attaching describes how the programs of a kind of place are attached.
func Attaching(k *probe.Kind) string {
	switch {
	case k.Find == nil:
		return "by code in the process"
	case !k.Kernel:
		return "by code in the process; with --all or --engine=kernel by the kernel"
	}
	a, ok := bpf.KindNamed(k.Attach)
	if !ok { // Find decides
		return "by the kernel: its raw arguments (rawtracepoint) or its record (tracepoint)"
	}
	s := "by the kernel: " + a.String()
	if a.Cookies() {
		s += ", one program for all sites of a pattern"
	}
	return s
}
