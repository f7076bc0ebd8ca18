package experiment

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// maxRead bounds one answer to qTBuffer; GDB asks for less.
const maxRead = 32 << 10

// reading is a read of the whole buffer, piece by piece. Frames are encoded when
// their turn comes; GDB reads from the first byte to the last.
type reading struct {
	on    bool
	first uint64 // number of the frame at offset 0, counted from the start of the run
	// The frame at hand, where it begins, and, as soon as it is needed, its bytes.
	number, offset uint64
	data           []byte
}

// reader gives the buffer to GDB in pieces.
type reader struct {
	buffer  *buffer
	runner  *runner
	encoder *encoder
	reading *reading
}

// packets are those that it handles.
func (x *reader) packets() []row {
	return []row{on("qTBuffer", "reads the frames as they are in a trace file", x.read)}
}

// errDropped ends a read.
var errDropped = errors.New("the circular trace buffer has dropped frames while it was read; stop the trace first")

// readBuffer answers qTBuffer. A read begins at offset 0. Frames that come meanwhile
// follow those that were there; when a circular buffer drops what was not read yet,
// the read fails.
func (x *reader) read(p rsp.ReadTraceBuffer) (rsp.Packet, error) {
	r := x.reading
	if p.Offset == 0 {
		x.runner.Tick()
	}
	switch {
	case p.Offset == 0 || !r.on:
		oldest := x.buffer.oldest()
		*r = reading{on: true, first: oldest, number: oldest, data: r.data[:0]}
	case p.Offset < r.offset:
		r.number, r.offset, r.data = r.first, 0, r.data[:0]
	}
	more, err := x.seek(p.Offset)
	if err != nil {
		return nil, err
	} else if !more {
		return rsp.EndOfList{}, nil
	}
	var out []byte
	for n := int(min(p.Length, maxRead)); len(out) < n; {
		part := r.data[p.Offset+uint64(len(out))-r.offset:]
		out = append(out, part[:min(len(part), n-len(out))]...)
		// A frame that is gone is reported when it is requested.
		if more, err = x.seek(p.Offset + uint64(len(out))); err != nil || !more {
			break
		}
	}
	return rsp.TraceData{Data: out}, nil
}

// seek goes on to the frame that has the byte at offset. more is false where the
// frames end before.
func (x *reader) seek(offset uint64) (more bool, err error) {
	b, r := x.buffer, x.reading
	for {
		if len(r.data) == 0 {
			switch {
			case r.number < b.oldest():
				return false, errDropped
			case r.number >= b.created:
				return false, nil
			}
			f := b.frame(int(r.number - b.oldest()))
			r.data = x.encoder.encode(r.data, &f)
		}
		if offset-r.offset < uint64(len(r.data)) {
			return true, nil
		}
		r.offset += uint64(len(r.data))
		r.number, r.data = r.number+1, r.data[:0]
	}
}
