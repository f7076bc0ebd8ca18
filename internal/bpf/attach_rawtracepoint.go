package bpf

import "github.com/cilium/ebpf"

// attachRawTracepoint attaches to a tracepoint's raw arguments. Nothing stands
// between the tracepoint and the program: the cheapest kind for a tracepoint.
func attachRawTracepoint(_ *Kernel, prog *ebpf.Program, t *Target) ([]part, error) {
	fd, err := rawTracepointOpen(t.Name, prog.FD(), t.Cookie)
	if err != nil {
		return nil, err
	}
	p, err := linkOf(fd, -1)
	if err != nil {
		return nil, err
	}
	return []part{p}, nil
}
