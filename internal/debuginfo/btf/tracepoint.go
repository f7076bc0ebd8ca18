package btf

import (
	"strings"

	ebtf "github.com/cilium/ebpf/btf"
)

// Tracepoint is a static tracepoint by its raw arguments.
type Tracepoint struct {
	Name   string
	Module string      // "" for the kernel's own
	ID     ebtf.TypeID // of the typedef btf_trace_NAME, in the BTF of Module
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
			for _, t := range u.named(rawPrefix+name, func(t ebtf.Type) bool { _, ok := t.(*ebtf.Typedef); return ok }) {
				if tp := k.tracepoint(u, name, t.(*ebtf.Typedef)); tp != nil {
					return tp, nil
				}
			}
		}
	}
	return nil, k.noTracepoint(name)
}

func (k *Kernel) noTracepoint(name string) error {
	e := k.notFound("tracepoint", rawPrefix, name, kindTypedef)
	for _, raw := range []string{"sys_enter", "sys_exit"} {
		if strings.HasPrefix(name, raw+"_") {
			e.Nearest, e.Hint = nil, "the events of system calls have no raw arguments of their own; "+raw+" has those of all"
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
	names, err := k.list(k.all(), rawPrefix, glob, kindTypedef)
	if err == nil && len(names) == 0 {
		return nil, k.noTracepoint(glob)
	}
	return names, err
}

func (k *Kernel) tracepoint(u *unit, name string, td *ebtf.Typedef) *Tracepoint {
	proto := probeType(td)
	if proto == nil || len(proto.Params) == 0 {
		return nil
	}
	names := probeNames(u, name, proto)
	tp := &Tracepoint{Name: name, Module: u.name, ID: u.id(td), unit: u}
	for i, p := range proto.Params[1:] {
		n := p.Name
		if names != nil {
			n = names[i]
		}
		tp.Params = append(tp.Params, Param{paramName(n, i), k.typeOf(u, p.Type)})
	}
	return tp
}

func probeType(td *ebtf.Typedef) *ebtf.FuncProto {
	if p, ok := td.Type.(*ebtf.Pointer); ok {
		if f, ok := p.Target.(*ebtf.FuncProto); ok {
			return f
		}
	}
	return nil
}

// probeNames finds the names of a tracepoint's arguments, nil when nothing has them.
func probeNames(u *unit, name string, proto *ebtf.FuncProto) []string {
	for _, prefix := range namers {
		for _, t := range u.named(prefix+name, func(t ebtf.Type) bool { _, ok := t.(*ebtf.Func); return ok }) {
			if f, ok := t.(*ebtf.Func).Type.(*ebtf.FuncProto); ok && sameArguments(f, proto) {
				var out []string
				for _, p := range f.Params[1:] {
					out = append(out, p.Name)
				}
				return out
			}
		}
	}
	return nil
}

// sameArguments compares what follows the first parameter, which must have names in f.
func sameArguments(f, proto *ebtf.FuncProto) bool {
	if len(f.Params) != len(proto.Params) {
		return false
	}
	for i, p := range f.Params[1:] {
		if p.Name == "" || p.Type != proto.Params[i+1].Type {
			return false
		}
	}
	return true
}
