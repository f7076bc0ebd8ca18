package bpf

import "github.com/cilium/ebpf"

// attachRawTracepoint attaches to a tracepoint's raw arguments. The tracepoint calls the program directly, so
// this is the cheapest kind.
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
