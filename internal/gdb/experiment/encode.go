package experiment

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// encoder makes of frames what GDB reads.
type encoder struct {
	*base
	record []byte // a record with its head, while it is taken apart
}

// frameHead is a frame's number and size.
const frameHead = 6

// encode appends a frame as qTBuffer and trace files have it.
func (x *encoder) encode(dst []byte, f *frame) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(f.number))
	dst = append(dst, 0, 0, 0, 0)
	if f.layout != nil {
		var head [agentexpr.RecordHead]byte
		x.record = append(append(x.record[:0], head[:]...), f.body...)
		dst, _ = f.layout.AppendBlocks(dst, x.record, &x.regs, f.entry.time/1000)
	} else {
		dst = x.appendFrame(dst, f)
	}
	if len(f.regs) > 0 && f.rip < 0 {
		binary.LittleEndian.PutUint64(dst[start+frameHead+1+x.ripOffset:], f.pc)
	}
	binary.LittleEndian.PutUint32(dst[start+2:], uint32(len(dst)-start-frameHead))
	return dst
}

// appendFrame appends the blocks of a frame without a layout.
func (x *encoder) appendFrame(dst []byte, f *frame) []byte {
	var regs agentexpr.Frame
	body := f.body
	for _, r := range f.regs {
		regs.Regs = append(regs.Regs, agentexpr.RegValue{Num: r.num, Data: body[:r.size]})
		body = body[r.size:]
	}
	return append(regs.AppendBlocks(dst, &x.regs, 0), body...)
}

// static is the static tracepoint's text of a frame.
func (x *encoder) static(f *frame) string {
	if f.form.text == nil || f.entry.tail&tailText != 0 {
		return string(f.text)
	}
	return f.form.text.StaticText(append(make([]byte, agentexpr.RecordHead), f.body...))
}
