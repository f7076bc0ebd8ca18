package printk

import (
	"strconv"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// Format is the parsed print format of one event. It may be used from several goroutines.
type Format struct {
	tmpl []directive
	args []node
	// name is the beginning of a line: "sched_switch: ".
	name string
	// call is set for the events of system calls, which the kernel prints
	// without their print format.
	call *syscallText
}

var envs = sync.Pool{New: func() any { return &env{} }}

// Render appends the text of a record to dst, without the event's name and without a newline. record begins
// with the common fields (8 bytes, which may be zero); the bytes are little-endian. r may be nil.
func (f *Format) Render(dst, record []byte, r *Resolver) []byte {
	if f.call != nil {
		return f.call.render(dst, record)
	}
	e := envs.Get().(*env)
	e.rec.b, e.r = record, r
	e.seq.b = e.seq.b[:0]
	clear(e.locals)
	dst = appendTemplate(dst, f.tmpl, f.args, e)
	e.rec.b, e.r = nil, nil
	clear(e.locals)
	envs.Put(e)
	return dst
}

// Line appends the text as in the kernel's `trace` file after the time: "sched_switch: prev_comm=...", or
// "sys_openat(dfd: ...)".
func (f *Format) Line(dst, record []byte, r *Resolver) []byte {
	return f.Render(append(dst, f.name...), record, r)
}

// syscallText is the text of a system call's entry or exit.
type syscallText struct {
	name string // "sys_openat"
	exit bool
	args []syscallArg
}

type syscallArg struct {
	name string
	off  int
}

func newSyscallText(ev *tracefs.Event, name string, enter bool) *syscallText {
	t := &syscallText{name: "sys_" + name, exit: !enter}
	if !enter {
		if f := ev.Field("ret"); f != nil {
			t.args = []syscallArg{{"", int(f.Offset)}}
		}
		return t
	}
	for _, f := range ev.SyscallArgs() {
		t.args = append(t.args, syscallArg{f.Name, int(f.Offset)})
	}
	return t
}

// render is print_syscall_enter() and print_syscall_exit() of the kernel. Since
// Linux 6.18 arguments from 10 up have a 0x.
func (t *syscallText) render(dst, record []byte) []byte {
	dst = append(dst, t.name...)
	if t.exit {
		dst = append(dst, " -> "...)
		for _, a := range t.args {
			dst = appendWord(dst, record, a.off, 0)
		}
		return dst
	}
	dst = append(dst, '(')
	for i, a := range t.args {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, a.name...)
		dst = append(dst, ": "...)
		dst = appendWord(dst, record, a.off, 10)
	}
	return append(dst, ')')
}

// appendWord prints a word in hexadecimal, with 0x if it is at least plain.
func appendWord(dst, record []byte, off int, plain uint64) []byte {
	n, ok := load(record, off, 8)
	if !ok {
		return reason(dst, beyond)
	}
	if n >= plain {
		dst = append(dst, "0x"...)
	}
	return strconv.AppendUint(dst, n, 16)
}

// Functions lists the kernel functions that the format calls and that therefore have no value here.
func (f *Format) Functions() []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range f.args {
		walk(a, func(n node) {
			if c, ok := n.(*call); ok && c.fn.eval == nil && !seen[c.name] {
				seen[c.name] = true
				out = append(out, c.name)
			}
		})
	}
	return out
}

// Names lists the enumerators and variables that the format needs from a resolver.
func (f *Format) Names() []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range f.args {
		walk(a, func(n node) {
			if c, ok := n.(*constant); ok && !seen[c.name] {
				seen[c.name] = true
				out = append(out, c.name)
			}
		})
	}
	return out
}

// walk visits n and its descendants.
func walk(n node, visit func(node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, c := range children(n) {
		walk(c, visit)
	}
}

func children(n node) []node {
	switch n := n.(type) {
	case *binaryNode:
		return []node{n.l, n.r}
	case *logical:
		return []node{n.l, n.r}
	case *unaryNode:
		return []node{n.of}
	case *ternary:
		return []node{n.cond, n.yes, n.no}
	case *cast:
		return []node{n.of}
	case *sizeof:
		return []node{n.of}
	case *index:
		return []node{n.of, n.by}
	case *member:
		return []node{n.of}
	case *address:
		return []node{n.of}
	case *statements:
		return n.list
	case *declare:
		return []node{n.init}
	case *braces:
		return n.list
	case *assignment:
		if to, ok := n.to.(node); ok {
			return []node{to, n.from}
		}
		return []node{n.from}
	case *call:
		return n.args
	case *arrayCall:
		return n.args
	}
	return nil
}
