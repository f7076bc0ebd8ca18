package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/fail"
)

// In a PID namespace other than the machine's first one, processes and threads have other numbers than
// those that the kernel's helper returns. jalon uses the numbers of its own namespace everywhere: in
// filters, conditions and records. A process of a nested namespace has such a number too; a process outside
// has none, and is shown as 0, as in the kernel's own interfaces.

// pids describes jalon's namespace for programs.
type pids struct {
	*base
	facts     *facts
	namespace *ebpf.Namespace // nil: it is the machine's first one, or find was not called
}

// firstNamespace is the inode of the machine's first PID namespace (PROC_PID_INIT_INO).
const firstNamespace = 0xEFFFFFFC

// find finds how programs get numbers of jalon's PID namespace.
func (e *pids) find() (err error) {
	if e.namespace == nil {
		e.namespace, err = e.ownNamespace()
	}
	return err
}

// ownNamespace is nil where the kernel's helper gives the numbers.
func (e *pids) ownNamespace() (*ebpf.Namespace, error) {
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/self/ns/pid", &st); err == nil && st.Ino == firstNamespace {
		return nil, nil
	}
	ns := &ebpf.Namespace{}
	for _, m := range []struct {
		to          *int32
		tag, member string
	}{
		{&ns.ThreadPid, "task_struct", "thread_pid"},
		{&ns.Signal, "task_struct", "signal"},
		{&ns.Pids, "signal_struct", "pids"},
		{&ns.Level, "pid", "level"},
		{&ns.Numbers, "pid", "numbers"},
		{&ns.Nr, "upid", "nr"},
		{&ns.Ns, "upid", "ns"},
	} {
		if *m.to = e.facts.offset(m.tag, m.member); *m.to < 0 {
			return nil, &fail.Error{
				Op:     "number processes as in jalon's PID namespace",
				Err:    fmt.Errorf("the kernel's BTF has no %s.%s", m.tag, m.member),
				Remedy: "run jalon outside the container",
			}
		}
	}
	size, err := e.upidSize()
	if err != nil {
		return nil, err
	}
	if err := e.readNamespace(ns, size); err != nil {
		return nil, &fail.Error{Op: "find jalon's PID namespace in the kernel", Err: err}
	}
	if ns.Depth == 0 {
		return nil, nil
	}
	ns.Numbers += int32(ns.Depth * size)
	ns.Pids += 8 // PIDTYPE_TGID is 1
	return ns, nil
}

// upidSize is the size of struct upid.
func (e *pids) upidSize() (int, error) {
	b, err := e.facts.btf()
	if err != nil {
		return 0, err
	}
	t := b.Named("struct upid")
	if t == nil {
		return 0, errors.New("the kernel does not describe struct upid")
	}
	return int(t.Size), nil
}

// readNamespace reads the depth of jalon's namespace, and its identity.
func (e *pids) readNamespace(ns *ebpf.Namespace, size int) error {
	task, err := e.k.CurrentTask()
	if err != nil {
		return err
	}
	word := func(addr uint64, n int) (v uint64) {
		if err == nil {
			var b []byte
			if b, err = e.k.ReadMemory(addr, n); err == nil {
				v = binary.LittleEndian.Uint64(append(b, 0, 0, 0, 0)[:8])
			}
		}
		return v
	}
	pid := word(task+uint64(ns.ThreadPid), 8)
	ns.Depth = int(word(pid+uint64(ns.Level), 4))
	own := pid + uint64(ns.Numbers) + uint64(ns.Depth*size)
	ns.Address = word(own+uint64(ns.Ns), 8)
	return err
}
