package ctf

import (
	"encoding/binary"
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

// stateKinds are the events of the state stream, with their fields.
var stateKinds = []struct {
	name    string
	members []member
}{
	stateThread:    {"thread", []member{has("since", uint64Class), has("tid", int32Class), has("pid", int32Class), has("name", stringClass{})}},
	stateBegin:     {"state_begin", nil},
	stateEnd:       {"state_end", []member{has("unread", uint32Class)}},
	stateProcess:   {"process", []member{has("pid", int32Class), has("ppid", int32Class), has("uid", uint32Class), has("name", stringClass{}), has("program", stringClass{}), has("command", stringClass{})}},
	stateMapping:   {"mapping", []member{has("pid", int32Class), has("start", uint64Class), has("end", uint64Class), has("offset", uint64Class), has("path", stringClass{}), has("build_id", stringClass{})}},
	stateFile:      {"file", []member{has("pid", int32Class), has("fd", int32Class), has("path", stringClass{})}},
	stateCPU:       {"cpu", []member{has("cpu", uint32Class), has("package", int32Class), has("core", int32Class), has("node", int32Class)}},
	stateTask:      {"task", []member{has("pid", int32Class), has("tid", int32Class), has("name", stringClass{})}},
	stateSpan:      {"state_span", []member{has("since", uint64Class), has("until", uint64Class)}},
	stateInterrupt: {"interrupt", []member{has("irq", uint32Class), has("name", stringClass{}), has("action", stringClass{})}},
	stateStack:     {"stack", []member{has("number", uint32Class), has("length", uint32Class), has("frames", listClass{frameClass, "_length"})}},
}

// frameClass is a frame of a stack.
var frameClass = structOf(has("pc", uint64Class), has("offset", uint64Class), has("line", uint32Class), has("inlined", uint8Class), has("function", stringClass{}),
	has("file", stringClass{}), has("module", stringClass{}), has("cut", stringClass{}), has("build_id", stringClass{}), has("address", uint64Class), has("caller", uint8Class))

func has(name string, of fieldClass) member { return member{name: "_" + name, of: of} }

// stateClasses are the events of the state stream that are written.
func stateClasses() (list []eventClass) {
	for id, k := range stateKinds {
		if id != statePlainStack {
			list = append(list, eventClass{uint32(id), State, k.name, k.members})
		}
	}
	return list
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
