package experiment

import (
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// form says what the bytes of frames are. Frames of one location that were collected
// in the same way share one.
//
//	with a layout:  the record without its head
//	without:        the registers regs, one behind the other, and M and V blocks
type form struct {
	tp     uint32 // index of the tracepoint
	number uint64 // its number
	// pc is that of frames that have none of their own; 0: it is not known.
	pc     uint64
	layout *agentexpr.Layout
	regs   []regShape
	rip    int  // where it is in the bytes; -1: nowhere
	pcs    bool // there are frames that have their pc in their tail
	prints bool // there is text of printf operations in the record
	// text makes the text of a static tracepoint of a record; nil: there is none.
	text Texter
}

// regShape is a collected register and how many bytes there are of it.
type regShape struct{ num, size int }

// tail says what is behind the bytes that the form describes.
type tail uint8

const (
	tailPC   tail = 1 << iota // the pc, 8 bytes; the first
	tailText                  // the static tracepoint's text, its length, 4 bytes
)

// forms are the forms of a buffer, by index. They, and so the layouts, live as long
// as it.
type forms struct {
	list  []*form
	index map[formKey]uint32
}

type formKey struct {
	tp     uint32
	step   bool
	layout *agentexpr.Layout
	regs   string
}

// frame is a frame of the buffer, not taken apart. Its bytes are the buffer's.
type frame struct {
	*form
	entry entry
	body  []byte
	text  []byte
	pc    uint64 // 0: not known
}

// frame splits the bytes of an entry.
func (s *forms) frame(e *entry, b []byte) frame {
	f := frame{form: s.list[e.form], entry: *e, body: b}
	f.pc = f.form.pc
	if e.tail&tailText != 0 {
		end := len(f.body) - 4
		n := int(binary.LittleEndian.Uint32(f.body[end:]))
		f.body, f.text = f.body[:end-n], f.body[end-n:end]
	}
	if e.tail&tailPC != 0 {
		end := len(f.body) - 8
		f.pc = binary.LittleEndian.Uint64(f.body[end:])
		f.body = f.body[:end]
	}
	if f.rip >= 0 {
		f.pc = binary.LittleEndian.Uint64(f.body[f.rip:])
	}
	return f
}

// of finds the form of a hit, or makes it. Hits of a location mostly repeat, so the
// form of the last one is looked at first.
func (s *forms) of(tp *tracepoint, h *Hit, rip int) uint32 {
	last := &tp.form
	if h.Step {
		last = &tp.stepForm
	}
	if *last != 0 && s.list[*last-1].fits(h) {
		return *last - 1
	}
	k := formKey{tp: tp.index, step: h.Step, layout: h.Layout}
	if h.Layout == nil && h.Frame != nil {
		var name []byte
		for i := range h.Frame.Regs {
			r := &h.Frame.Regs[i]
			name = binary.AppendUvarint(name, uint64(r.Num))
			name = binary.AppendUvarint(name, uint64(len(r.Data)))
		}
		k.regs = string(name)
	}
	i, ok := s.index[k]
	if !ok {
		if s.index == nil {
			s.index = map[formKey]uint32{}
		}
		i = uint32(len(s.list))
		s.index[k] = i
		s.list = append(s.list, newForm(tp, h, rip))
	}
	*last = i + 1
	return i
}

// fits reports whether a hit is of the form, whose location and step are its.
func (f *form) fits(h *Hit) bool {
	if f.layout != nil || h.Layout != nil {
		return f.layout == h.Layout
	}
	if h.Frame == nil {
		return len(f.regs) == 0
	}
	return slices.EqualFunc(f.regs, h.Frame.Regs, func(a regShape, b agentexpr.RegValue) bool {
		return a.num == b.Num && a.size == len(b.Data)
	})
}

// newForm makes the form of a hit; rip is the number of that register.
func newForm(tp *tracepoint, h *Hit, rip int) *form {
	f := &form{tp: tp.index, number: tp.number, layout: h.Layout, rip: -1}
	if !h.Step {
		f.pc = tp.addr
	}
	reg := func(num, size, at int) {
		f.regs = append(f.regs, regShape{num, size})
		if num == rip && size == 8 {
			f.rip = at
		}
	}
	switch {
	case h.Layout != nil:
		f.text = h.Text
		for _, r := range h.Layout.Regs {
			reg(r.Num, r.Size, r.Offset-agentexpr.RecordHead)
		}
		for i := range h.Layout.Blocks {
			f.prints = f.prints || h.Layout.Blocks[i].Kind == agentexpr.PrintBlock
		}
	case h.Frame != nil:
		at := 0
		for _, r := range h.Frame.Regs {
			reg(r.Num, len(r.Data), at)
			at += len(r.Data)
		}
	}
	return f
}
