// Package madetrace writes recorded traces for tests of what reads them: any schemas, events and stacks, without a traced program.
package madetrace

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// WallOffset is that of all traces.
const WallOffset = 1_700_000_000_000_000_000

// Maker writes a trace.
type Maker struct {
	Dir string
	// CompleteFrom is from which time on the trace has all events, if some before it are missing.
	CompleteFrom int64

	t       testing.TB
	uuid    [16]byte
	schemas ctf.Schemas
	sites   map[*event.Schema]*ctf.Site
	streams map[int]*ctf.Stream // by CPU
	files   map[int]*os.File
	state   *ctf.Stream
	stack   uint32
}

// New begins a trace in a new directory.
func New(t testing.TB) *Maker {
	m := &Maker{Dir: t.TempDir(), t: t, uuid: [16]byte{9}, schemas: ctf.Schemas{}, sites: map[*event.Schema]*ctf.Site{}, streams: map[int]*ctf.Stream{}, files: map[int]*os.File{}}
	m.state = ctf.NewStream(m.uuid, ctf.State, 0, 0, 0, false)
	if err := os.Mkdir(filepath.Join(m.Dir, ctf.OwnDirectory), 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// Field is a field of a site: Text fields are strings of at most Size bytes, Pointed ones pointers with their strings.
type Field struct {
	Name    string
	Type    *ctype.Type
	Text    int // bytes of a string
	Pointed int
	Stack   bool
	Fails   bool // it has a status
}

// Site makes a place with fields. The records are made by Record.
func (m *Maker) Site(place, function string, fields ...Field) *event.Schema {
	s := &event.Schema{SiteID: uint32(len(m.schemas[ctf.Process])), Place: place, Function: function, File: function + ".c", Line: 9}
	at := ring.RecHeader
	room := func(n int) int {
		off := at
		at += (n + 7) &^ 7
		return off
	}
	for _, x := range fields {
		f := event.Field{Name: x.Name, Type: x.Type, StatusOffset: -1, StrStatusOffset: -1}
		switch {
		case x.Stack:
			f.Kind, f.Size = event.UserFrames, 16
		case x.Text > 0:
			f.Kind, f.Size = event.Counted, 8+x.Text
		default:
			f.Size = int(x.Type.Strip().Size)
		}
		f.Offset = room(max(f.Size, 8))
		if x.Fails {
			f.StatusOffset = room(1)
		}
		if x.Pointed > 0 {
			f.StrSize = 8 + x.Pointed
			f.StrOffset = room(f.StrSize)
		}
		s.Fields = append(s.Fields, f)
	}
	s.RecordSize = at
	site, err := ctf.NewSite(s)
	if err != nil {
		m.t.Fatal(err)
	}
	m.schemas[ctf.Process] = append(m.schemas[ctf.Process], s)
	m.sites[s] = site
	return s
}

// Unavailable is a value that could not be read.
type Unavailable struct{ Addr uint64 }

// Text is a string behind a pointer.
type Text struct {
	Addr uint64
	Text string
}

// Record makes a record of values: integers, strings, Text, Unavailable, bytes.
func Record(s *event.Schema, values ...any) []byte {
	rec := make([]byte, s.RecordSize)
	for i, v := range values {
		f := &s.Fields[i]
		slot := rec[f.Offset : f.Offset+max(f.Size, 8)]
		switch v := v.(type) {
		case int:
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], uint64(v))
			copy(rec[f.Offset:f.Offset+f.Size], b[:])
		case []byte:
			copy(slot, v)
		case string:
			counted(slot, v)
		case Text:
			binary.LittleEndian.PutUint64(slot, v.Addr)
			counted(rec[f.StrOffset:f.StrOffset+f.StrSize], v.Text)
		case Unavailable:
			rec[f.StatusOffset] = byte(event.Unreadable)
			binary.LittleEndian.PutUint64(slot, v.Addr)
		case nil:
		default:
			panic(fmt.Sprintf("madetrace: a value %T", v))
		}
	}
	return rec
}

func counted(slot []byte, text string) {
	n := copy(slot[8:], text)
	binary.LittleEndian.PutUint32(slot, uint32(n))
	if n < len(text) {
		binary.LittleEndian.PutUint32(slot[4:], 1)
	}
}

// Thread names a thread.
func (m *Maker) Thread(pid, tid int, name string) {
	m.state.Thread(1, ctf.Thread{Since: 1, Pid: pid, Tid: tid, Name: name})
}

// Stack adds a stack, innermost function first, and returns its number.
func (m *Maker) Stack(functions ...string) uint32 {
	m.stack++
	var frames []debuginfo.Frame
	for i, f := range functions {
		frames = append(frames, debuginfo.Frame{PC: 0x1000 + uint64(i), Function: f, File: f + ".c", Line: i + 1})
	}
	m.state.Stack(1, m.stack, frames)
	return m.stack
}

// Event adds an event. Times ascend on each CPU.
func (m *Maker) Event(s *event.Schema, time int64, cpu, pid, tid int, stack uint32, rec []byte) {
	o := m.streams[cpu]
	if o == nil {
		o = ctf.NewStream(m.uuid, ctf.Process, uint64(cpu), cpu, pid, false)
		f, err := os.Create(filepath.Join(m.Dir, fmt.Sprintf("process-%d", cpu)))
		if err != nil {
			m.t.Fatal(err)
		}
		m.streams[cpu], m.files[cpu] = o, f
	}
	o.Event(m.sites[s], time, pid, tid, rec, func(*event.Schema, *event.Field, []byte) uint32 { return stack })
	if o.Full() {
		m.flush(cpu)
	}
}

func (m *Maker) flush(cpu int) {
	if o := m.streams[cpu]; !o.Empty() {
		if _, err := m.files[cpu].Write(o.Take(0, nil)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// Write ends the trace and returns its directory.
func (m *Maker) Write() string {
	for _, cpu := range slices.Sorted(maps.Keys(m.streams)) {
		m.flush(cpu)
		if err := m.files[cpu].Close(); err != nil {
			m.t.Fatal(err)
		}
	}
	if !m.state.Empty() {
		m.file("state", m.state.Take(0, nil))
	}
	text, err := ctf.Metadata(&ctf.Info{UUID: m.uuid, WallOffset: WallOffset}, m.schemas)
	m.must(err)
	m.file(ctf.MetadataFile, text)
	b, err := ctf.EncodeSchemas(m.schemas)
	m.must(err)
	m.file(filepath.Join(ctf.OwnDirectory, ctf.SchemasFile), b)
	b, err = ctf.EncodeInfo(ctf.FileInfo{UUID: m.uuid, WallOffset: WallOffset, CompleteFrom: m.CompleteFrom, Gaps: m.CompleteFrom != 0})
	m.must(err)
	m.file(filepath.Join(ctf.OwnDirectory, ctf.InfoFile), b)
	return m.Dir
}

// Open writes the trace and opens it.
func (m *Maker) Open() *ctf.Trace {
	t, err := ctf.Open(m.Write())
	m.must(err)
	m.t.Cleanup(t.Close)
	return t
}

func (m *Maker) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *Maker) file(name string, b []byte) {
	m.must(os.WriteFile(filepath.Join(m.Dir, name), b, 0o600))
}
