package experiment

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// collector puts hits into the buffer.
type collector struct {
	*base
	buffer        *buffer
	damaged       uint64 // records of the run that were none
	scratch, tail []byte
}

// collect keeps a hit and reports whether the buffer had room.
func (x *collector) collect(tp *tracepoint, h *Hit) bool {
	var body []byte
	if h.Layout != nil {
		whole := h.Layout.Whole(h.Record)
		if whole == nil {
			x.damaged++ // the program that is traced can write to its ring
			return true
		}
		body = whole[agentexpr.RecordHead:]
	}
	index := x.buffer.forms.of(tp, h, x.rip)
	f := x.buffer.forms.list[index]
	e := entry{time: uint64(h.Time), form: index, tid: int32(h.TID), cpu: int16(h.CPU)}
	switch {
	case h.Layout != nil:
		tp.unreadable += uint64(h.Layout.Failures(h.Record))
		if f.prints && x.opt.Print != nil {
			h.Layout.Printed(h.Record, x.print)
		}
	case h.Frame != nil:
		body = x.flatten(h.Frame, uint64(h.Time/1000))
		tp.unreadable += uint64(len(h.Frame.Failures))
		for i := range h.Frame.Blocks {
			if p := h.Frame.Blocks[i].Printed; p != nil {
				x.print(p)
			}
		}
	}
	x.tail = x.tail[:0]
	if h.PC != 0 || h.Static != "" {
		x.more(&e, f, h)
	}
	return x.buffer.add(e, body, x.tail)
}

// more makes the tail of a hit.
func (x *collector) more(e *entry, f *form, h *Hit) {
	b := x.tail
	if h.PC != 0 && h.PC != f.pc && f.rip < 0 {
		e.tail |= tailPC
		f.pcs = true
		b = binary.LittleEndian.AppendUint64(b, h.PC)
	}
	if h.Static != "" {
		e.tail |= tailText
		b = append(b, h.Static...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(h.Static)))
	}
	x.tail = b
}

// flatten gives the bytes of a frame that was taken apart: they are valid until the
// next call. An R block has room for all registers, of which few were collected.
func (x *collector) flatten(f *agentexpr.Frame, now uint64) []byte {
	b := x.scratch[:0]
	for i := range f.Regs {
		b = append(b, f.Regs[i].Data...)
	}
	blocks := agentexpr.Frame{Blocks: f.Blocks}
	x.scratch = blocks.AppendBlocks(b, &x.regs, now)
	return x.scratch
}
