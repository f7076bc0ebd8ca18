package tracefs

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// The events of system calls are syscalls:sys_enter_NAME and syscalls:sys_exit_NAME.
const (
	syscallSystem = "syscalls"
	enterPrefix   = "sys_enter_"
	exitPrefix    = "sys_exit_"
	syscallNumber = "__syscall_nr"
)

// renamed are the x86-64 system calls whose kernel function, and therefore event, has another name than the
// call in the manual.
var renamed = map[string]string{
	"stat": "newstat", "fstat": "newfstat", "lstat": "newlstat", "fstatat": "newfstatat",
	"uname": "newuname", "sendfile": "sendfile64", "umount2": "umount",
}

// Syscall is one system call: the events at its entry and exit.
type Syscall struct {
	Name        string // as in the events: "openat", "newfstatat"
	Enter, Exit *Event
	// Args are the arguments: fields of Enter, one word each.
	Args []Field
}

// Syscalls lists the names of the system calls that have events, in alphabetical order.
func (f *FS) Syscalls() ([]string, error) {
	events, err := f.Events(syscallSystem)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range events {
		if name, ok := strings.CutPrefix(e, enterPrefix); ok {
			out = append(out, name)
		}
	}
	return out, nil
}

// Syscall reads the events of one system call by the manual's name ("stat") or the kernel's ("newstat"). If
// there is none, the error is a *debuginfo.NotFoundError.
func (f *FS) Syscall(name string) (*Syscall, error) {
	all, err := f.Syscalls()
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, s := range all {
		have[s] = true
	}
	if !have[name] && renamed[name] != "" {
		name = renamed[name]
	}
	if !have[name] {
		return nil, &debuginfo.NotFoundError{What: "system call", Name: name, Nearest: lang.Nearest(name, all, nearestCount)}
	}
	s := &Syscall{Name: name}
	if s.Enter, err = f.Event(syscallSystem, enterPrefix+name); err != nil {
		return nil, err
	}
	if s.Exit, err = f.Event(syscallSystem, exitPrefix+name); err != nil {
		return nil, err
	}
	s.Args = s.Enter.SyscallArgs()
	return s, nil
}

// SyscallArgs returns the fields with the arguments if the event is a system call's entry, otherwise nil.
func (e *Event) SyscallArgs() []Field {
	if _, enter := e.SyscallName(); !enter {
		return nil
	}
	var out []Field
	for _, f := range e.Fields {
		if !f.Common() && f.Name != syscallNumber {
			out = append(out, f)
		}
	}
	return out
}

// SyscallName returns the system call ("openat") if the event is its entry or exit, otherwise "".
func (e *Event) SyscallName() (name string, enter bool) {
	if e.System != syscallSystem {
		return "", false
	}
	if n, ok := strings.CutPrefix(e.Name, enterPrefix); ok {
		return n, true
	}
	n, _ := strings.CutPrefix(e.Name, exitPrefix)
	if n == e.Name {
		return "", false
	}
	return n, false
}
