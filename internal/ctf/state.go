package ctf

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// The events of the state stream. A trace has the names of threads and the stacks in a packet before the ones that refer to them.
const (
	stateThread     = iota
	statePlainStack // of traces that were made before the stacks had build-ids
	stateBegin
	stateEnd
	stateProcess
	stateMapping
	stateFile
	stateCPU
	stateTask
	stateSpan
	stateInterrupt
	stateStack
)

// stateRows declare the fields of each event of the state stream.
var stateRows = []struct{ name, fields string }{
	stateThread:    {"thread", "uint64_t _since; int32_t _tid; int32_t _pid; string _name;"},
	stateBegin:     {"state_begin", ""},
	stateEnd:       {"state_end", "uint32_t _unread;"},
	stateProcess:   {"process", "int32_t _pid; int32_t _ppid; uint32_t _uid; string _name; string _program; string _command;"},
	stateMapping:   {"mapping", "int32_t _pid; uint64_t _start; uint64_t _end; uint64_t _offset; string _path; string _build_id;"},
	stateFile:      {"file", "int32_t _pid; int32_t _fd; string _path;"},
	stateCPU:       {"cpu", "uint32_t _cpu; int32_t _package; int32_t _core; int32_t _node;"},
	stateTask:      {"task", "int32_t _pid; int32_t _tid; string _name;"},
	stateSpan:      {"state_span", "uint64_t _since; uint64_t _until;"},
	stateInterrupt: {"interrupt", "uint32_t _irq; string _name; string _action;"},
	stateStack: {"stack", "uint32_t _number; uint32_t _length; struct { uint64_t _pc; uint64_t _offset; uint32_t _line; uint8_t _inlined; " +
		"string _function; string _file; string _module; string _cut; string _build_id; uint64_t _address; uint8_t _caller; } _frames[_length];"},
}

func stateText() string {
	var b strings.Builder
	for id, r := range stateRows {
		if id == statePlainStack {
			continue
		}
		fmt.Fprintf(&b, "event {\n\tname = %s;\n\tid = %d;\n\tstream_id = %d;\n\tfields := struct { %s };\n};\n\n", quote(r.name), id, State, r.fields)
	}
	return b.String()
}

// Thread says that a thread has this name since a time.
type Thread struct {
	Since int64  `json:"since"`
	Pid   int    `json:"pid"`
	Tid   int    `json:"tid"`
	Name  string `json:"name"`
}

// StateProcess is a process in a state dump.
type StateProcess struct {
	Pid     int    `json:"pid"`
	Parent  int    `json:"parent"`
	UID     uint32 `json:"uid"`
	Name    string `json:"name"`
	Program string `json:"program,omitempty"` // its file
	Command string `json:"command,omitempty"` // its arguments
}

// Mapping is a file in the memory of a process. Pid 0: the kernel.
type Mapping struct {
	Pid     int    `json:"-"`
	Start   uint64 `json:"start"`
	End     uint64 `json:"end"`
	Offset  uint64 `json:"offset"`
	Path    string `json:"path"`
	BuildID string `json:"build_id,omitempty"` // hexadecimal; "" if it has none
}

// OpenFile is a descriptor of a process.
type OpenFile struct {
	Pid  int    `json:"-"`
	FD   int    `json:"fd"`
	Path string `json:"path"`
}

// CPU is where a CPU is; -1: not known.
type CPU struct {
	CPU     int `json:"cpu"`
	Package int `json:"package"`
	Core    int `json:"core"`
	Node    int `json:"node"`
}

// Interrupt is a line of interrupts.
type Interrupt struct {
	IRQ    int    `json:"irq"`
	Name   string `json:"name"`             // of the controller
	Action string `json:"action,omitempty"` // the driver that handles it
}

// Span is the time in which a state was read.
type Span struct {
	Since int64 `json:"since"`
	Until int64 `json:"until"`
}

type builder []byte

func (b *builder) u32(v uint32) { *b = binary.LittleEndian.AppendUint32(*b, v) }
func (b *builder) u64(v uint64) { *b = binary.LittleEndian.AppendUint64(*b, v) }

func (b *builder) bit(v bool) {
	x := byte(0)
	if v {
		x = 1
	}
	*b = append(*b, x)
}

// text adds a string up to its first NUL.
func (b *builder) text(s string) {
	s, _, _ = strings.Cut(s, "\x00")
	*b = append(append(*b, s...), 0)
}

// state adds an event of the state stream.
func (s *Stream) state(id uint32, now int64, fill func(*builder)) {
	b := builder(s.head(id, uint64(now)))
	fill(&b)
	s.buf = b
}

// Thread adds the name of a thread.
func (s *Stream) Thread(now int64, t Thread) {
	s.state(stateThread, now, func(b *builder) {
		b.u64(uint64(t.Since))
		b.u32(uint32(t.Tid))
		b.u32(uint32(t.Pid))
		b.text(t.Name)
	})
}

// Stack adds a stack.
func (s *Stream) Stack(now int64, number uint32, frames []debuginfo.Frame) {
	s.state(stateStack, now, func(b *builder) {
		b.u32(number)
		b.u32(uint32(len(frames)))
		for i := range frames {
			f := &frames[i]
			b.u64(f.PC)
			b.u64(f.Offset)
			b.u32(uint32(f.Line))
			b.bit(f.Inlined)
			b.text(f.Function)
			b.text(f.File)
			b.text(f.Module)
			b.text(f.Cut)
			b.text(f.BuildID)
			b.u64(f.Address)
			b.bit(f.Caller)
		}
	})
}

// Begin and End enclose a state dump; unread is how many things of processes could not be read.
func (s *Stream) Begin(now int64) { s.state(stateBegin, now, func(*builder) {}) }

// End ends a state dump.
func (s *Stream) End(now int64, unread uint32) {
	s.state(stateEnd, now, func(b *builder) { b.u32(unread) })
}

// Span is the time in which the state of this dump was read.
func (s *Stream) Span(now int64, x Span) {
	s.state(stateSpan, now, func(b *builder) {
		b.u64(uint64(x.Since))
		b.u64(uint64(x.Until))
	})
}

// Interrupt adds a line of interrupts.
func (s *Stream) Interrupt(now int64, x Interrupt) {
	s.state(stateInterrupt, now, func(b *builder) {
		b.u32(uint32(x.IRQ))
		b.text(x.Name)
		b.text(x.Action)
	})
}

// Process adds a process.
func (s *Stream) Process(now int64, p StateProcess) {
	s.state(stateProcess, now, func(b *builder) {
		b.u32(uint32(p.Pid))
		b.u32(uint32(p.Parent))
		b.u32(p.UID)
		b.text(p.Name)
		b.text(p.Program)
		b.text(p.Command)
	})
}

// Task adds a thread of a process.
func (s *Stream) Task(now int64, pid, tid int, name string) {
	s.state(stateTask, now, func(b *builder) {
		b.u32(uint32(pid))
		b.u32(uint32(tid))
		b.text(name)
	})
}

// Mapping adds a mapped file.
func (s *Stream) Mapping(now int64, m Mapping) {
	s.state(stateMapping, now, func(b *builder) {
		b.u32(uint32(m.Pid))
		b.u64(m.Start)
		b.u64(m.End)
		b.u64(m.Offset)
		b.text(m.Path)
		b.text(m.BuildID)
	})
}

// File adds an open file.
func (s *Stream) File(now int64, f OpenFile) {
	s.state(stateFile, now, func(b *builder) {
		b.u32(uint32(f.Pid))
		b.u32(uint32(f.FD))
		b.text(f.Path)
	})
}

// CPU adds a CPU.
func (s *Stream) CPU(now int64, c CPU) {
	s.state(stateCPU, now, func(b *builder) {
		for _, v := range []int{c.CPU, c.Package, c.Core, c.Node} {
			b.u32(uint32(int32(v)))
		}
	})
}
