package bpf

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
	"github.com/jalon-trace/jalon/internal/fail"
)

// PerfUsers returns the number of open perf events for a trace event on the whole machine: those of perf
// record, of other tracers' programs and of this process's Tracepoint programs. The kernel counts them in
// struct trace_event_call, but does not publish its address (many kernels have no data symbols in
// /proc/kallsyms). The address is found from a perf event of this process: task, open files, the event, its
// trace event.
func (k *Kernel) PerfUsers(group, event string) (int, error) {
	op := fmt.Sprintf("find the users of tracepoint:%s:%s", group, event)
	fd, err := k.openTraceEvent(group, event)
	if err != nil {
		return 0, k.explain(err, &attempt{op: op, kind: Tracepoint, target: &Target{Group: group, Name: event}})
	}
	defer unix.Close(fd)
	task, err := k.currentTask()
	if err != nil {
		return 0, err
	}
	n, err := k.follow(task, ofFile(fd,
		step{"perf_event", "tp_event", 0, 8},
		step{"trace_event_call", "perf_refcount", 0, 4},
	))
	if err != nil {
		return 0, &fail.Error{Op: op, Err: err}
	}
	return int(int32(n)) - 1, nil // without this one
}

// step is one load on a path through the kernel's structures, with the member's offset.
type step struct {
	strct, member string
	offset        uint64
	size          int
}

// ofFile returns the path from the current task to the private data of an open file of this process
// (private_data of struct file), and on.
func ofFile(fd int, on ...step) []step {
	return append([]step{
		{"task_struct", "files", 0, 8},
		{"files_struct", "fdt", 0, 8},
		{"fdtable", "fd", 0, 8},
		{"", "", uint64(fd) * 8, 8},
		{"file", "private_data", 0, 8},
	}, on...)
}

// follow performs the loads of the steps, each from the result of the one before.
func (k *Kernel) follow(at uint64, steps []step) (uint64, error) {
	for _, s := range steps {
		offset := s.offset
		if s.strct != "" {
			n, err := memberOffset(s.strct, s.member)
			if err != nil {
				return 0, err
			}
			offset += n
		}
		next, err := k.readWord(at+offset, s.size)
		if err != nil {
			return 0, err
		}
		at = next
	}
	return at, nil
}

// memberOffset returns a member's offset in bytes by the kernel's BTF.
func memberOffset(name, member string) (uint64, error) {
	s, err := structNamed(name)
	if err != nil {
		return 0, err
	}
	if bits, ok := memberIn(&s, member); ok {
		return uint64(bits / 8), nil
	}
	return 0, fmt.Errorf("struct %s of this kernel has no member %s", name, member)
}

// memberIn returns where a member of a struct or union is, in bits, also in a part without a name.
func memberIn(s *raw.Type, member string) (bits int64, ok bool) {
	for _, m := range s.Members() {
		if m.Name == member {
			return m.Offset, true
		}
		if m.Name != "" {
			continue
		}
		part := s.In.Type(m.Type)
		for part.Kind == raw.Const || part.Kind == raw.Volatile {
			part = part.Ref()
		}
		if part.Kind == raw.Struct || part.Kind == raw.Union {
			if bits, ok = memberIn(&part, member); ok {
				return m.Offset + bits, true
			}
		}
	}
	return 0, false
}

// structNamed returns a struct of the kernel's BTF.
func structNamed(name string) (s raw.Type, err error) {
	types, err := raw.Kernel()
	if err != nil {
		return s, wrap("reading the kernel's BTF", err)
	}
	list := types.Named(name, raw.Struct)
	if len(list) != 1 {
		return s, fmt.Errorf("the kernel's BTF has %d structs %s", len(list), name)
	}
	return list[0], nil
}
