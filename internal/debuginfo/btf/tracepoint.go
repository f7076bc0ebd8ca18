package btf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// Tracepoint is a static tracepoint by its raw arguments.
type Tracepoint struct {
	Name   string
	Module string // "" for the kernel's own
	ID     raw.ID // of the typedef btf_trace_NAME, in the BTF of Module
	Params []Param
	unit   *unit
}

// rawPrefix: for every tracepoint the kernel has a typedef of this name for a
// pointer to the function that a probe is: its first parameter is the probe's
// own (void *__data), the others are the tracepoint's arguments. A type has no
// names of parameters, so they come from a function of the same prototype.
const rawPrefix = "btf_trace_"

// namers are the functions that the kernel makes for a tracepoint, with the
// arguments' names. On kernels 6.1, 6.12 and 6.18 the first is there for every
// tracepoint; the others are absent here and there.
var namers = []string{"__traceiter_", "__probestub_", "__bpf_trace_", "perf_trace_", "trace_event_raw_event_"}

// Tracepoint finds a tracepoint, in the kernel and then in its modules. The
// error is a *debuginfo.NotFoundError.
func (k *Kernel) Tracepoint(name string) (*Tracepoint, error) {
	if name != "" {
		for _, u := range k.all() {
			for _, t := range u.named(rawPrefix+name, raw.Typedef) {
				if tp := k.tracepoint(u, name, t); tp != nil {
					return tp, nil
				}
			}
		}
	}
	return nil, k.noTracepoint(name)
}

func (k *Kernel) noTracepoint(name string) error {
	e := k.notFound("tracepoint", rawPrefix, name, raw.Typedef)
	for _, raw := range []string{"sys_enter", "sys_exit"} {
		if strings.HasPrefix(name, raw+"_") {
			e.Explain, e.Hint = nil, "the events of system calls have no raw arguments of their own; "+raw+" has those of all"
		}
	}
	return e
}

// all are the kernel and its modules.
func (k *Kernel) all() []*unit {
	return append([]*unit{k.base}, k.modules...)
}

// Tracepoints lists the tracepoints with raw arguments whose names match a
// pattern of path.Match, sorted: the kernel's and those of its modules.
func (k *Kernel) Tracepoints(glob string) ([]string, error) {
	names, err := k.list(k.all(), rawPrefix, glob, raw.Typedef)
	if err == nil && len(names) == 0 {
		return nil, k.noTracepoint(glob)
	}
	return names, err
}

func (k *Kernel) tracepoint(u *unit, name string, td raw.Type) *Tracepoint {
	proto, ok := probeType(&td)
	if !ok || proto.Entries() == 0 {
		return nil
	}
	names := probeNames(u, name, &proto)
	tp := &Tracepoint{Name: name, Module: u.name, ID: td.ID, unit: u}
	for i, p := range proto.Params()[1:] {
		n := p.Name
		if names != nil {
			n = names[i]
		}
		tp.Params = append(tp.Params, Param{paramName(n, i), k.typeOf(proto.In.Type(p.Type))})
	}
	return tp
}

// probeType is the prototype of a probe, to which the typedef is a pointer.
func probeType(td *raw.Type) (proto raw.Type, ok bool) {
	pointer := td.Ref()
	if pointer.Kind != raw.Ptr {
		return proto, false
	}
	proto = pointer.Ref()
	return proto, proto.Kind == raw.FuncProto
}

// probeNames finds the names of a tracepoint's arguments, nil when nothing has them.
func probeNames(u *unit, name string, proto *raw.Type) []string {
	for _, prefix := range namers {
		for _, fn := range u.named(prefix+name, raw.Func) {
			if f := fn.Ref(); f.Kind == raw.FuncProto && sameArguments(&f, proto) {
				var out []string
				for _, p := range f.Params()[1:] {
					out = append(out, p.Name)
				}
				return out
			}
		}
	}
	return nil
}

// sameArguments compares what follows the first parameter, which must have names in f.
func sameArguments(f, proto *raw.Type) bool {
	if f.Entries() != proto.Entries() {
		return false
	}
	want := proto.Params()
	for i, p := range f.Params()[1:] {
		if p.Name == "" || p.Type != want[i+1].Type {
			return false
		}
	}
	return true
}
