package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// attachTracing attaches programs that are typed by BTF to the target of their Load: a tracepoint, or a
// function's entry or return.
func attachTracing(_ *Kernel, prog *ebpf.Program, t *Target) ([]part, error) {
	l, err := link.AttachTracing(link.TracingOptions{Program: prog, AttachType: t.Kind.info().attach, Cookie: t.Cookie})
	if err != nil {
		return nil, err
	}
	return []part{{link: l, event: -1}}, nil
}
