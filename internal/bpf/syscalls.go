package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// SyscallNumbers returns the numbers of the system calls that have events, by their names in the events (newfstat). No file of the
// kernel has them. They are in struct syscall_metadata, to which the events' struct trace_event_call points. All of these are in one
// list, which is found from a perf event of this process.
func (k *Kernel) SyscallNumbers() (map[string]uint32, error) {
	n, err := k.syscallNumbers()
	if err != nil {
		return nil, &fail.Error{Op: "find the numbers of system calls", Err: err}
	}
	return n, nil
}

func (k *Kernel) syscallNumbers() (map[string]uint32, error) {
	var off struct{ list, data, name, number, enter, exit uint64 }
	for _, m := range []struct {
		strct, member string
		to            *uint64
	}{
		{"trace_event_call", "list", &off.list},
		{"trace_event_call", "data", &off.data},
		{"syscall_metadata", "name", &off.name},
		{"syscall_metadata", "syscall_nr", &off.number},
		{"syscall_metadata", "enter_event", &off.enter},
		{"syscall_metadata", "exit_event", &off.exit},
	} {
		var err error
		if *m.to, err = memberOffset(m.strct, m.member); err != nil {
			return nil, err
		}
	}
	size := max(off.data, off.list) + 8
	metaSize := max(off.name, off.number, off.enter, off.exit) + 8
	first, err := k.anEvent()
	if err != nil {
		return nil, err
	}
	out := map[string]uint32{}
	word := func(b []byte, at uint64) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	const most = 1 << 17 // events: their numbers have 16 bits
	for at, n := first, 0; ; n++ {
		if n > most {
			return nil, errors.New("the kernel's list of events does not end")
		}
		call, err := k.ReadMemory(at, int(size)) // the list's head is in other memory, which is no event
		if err != nil {
			return nil, err
		}
		// Only the metadata of a system call points back to the event.
		meta, err := k.ReadMemory(word(call, off.data), int(metaSize))
		if err == nil && (word(meta, off.enter) == at || word(meta, off.exit) == at) {
			name, err := k.readText(word(meta, off.name))
			if err != nil {
				return nil, err
			}
			number := int32(word(meta, off.number))
			if name, ok := strings.CutPrefix(name, "sys_"); ok && number >= 0 && number < DispatchSize {
				out[name] = uint32(number)
			}
		}
		if at = word(call, off.list) - off.list; at == first {
			return out, nil
		}
	}
}

// anEvent returns the address of the struct trace_event_call of an event.
func (k *Kernel) anEvent() (uint64, error) {
	fd, err := k.openTraceEvent("raw_syscalls", "sys_enter")
	if err != nil {
		return 0, err
	}
	defer k.ending.Go(func() { _ = unix.Close(fd) }) // the kernel waits for all CPUs
	task, err := k.currentTask()
	if err != nil {
		return 0, err
	}
	return k.follow(task, ofFile(fd, step{"perf_event", "tp_event", 0, 8}))
}

// readText reads a short text that ends with a zero.
func (k *Kernel) readText(addr uint64) (string, error) {
	b, err := k.ReadMemory(addr, 64)
	if err != nil {
		return "", err
	}
	text, _, ok := bytes.Cut(b, []byte{0})
	if !ok {
		return "", errors.New("the name of a system call does not end")
	}
	return string(text), nil
}
