package experiment

import (
	"errors"
	"fmt"
	"io"
	"slices"

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

// errDropped ends a read.
var errDropped = errors.New("the circular trace buffer has dropped frames while it was read; stop the trace first")

// readBuffer answers qTBuffer. A read begins at offset 0. Frames that come meanwhile
// follow those that were there; when a circular buffer drops what was not read yet,
// the read fails.
func (x *Experiment) readBuffer(p rsp.ReadTraceBuffer) (rsp.Packet, error) {
	r := &x.reading
	if p.Offset == 0 {
		x.Tick()
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
func (x *Experiment) seek(offset uint64) (more bool, err error) {
	b, r := &x.buffer, &x.reading
	for {
		if len(r.data) == 0 {
			switch {
			case r.number < b.oldest():
				return false, errDropped
			case r.number >= b.created:
				return false, nil
			}
			f := b.frame(int(r.number - b.oldest()))
			r.data = x.encode(r.data, &f)
		}
		if offset-r.offset < uint64(len(r.data)) {
			return true, nil
		}
		r.offset += uint64(len(r.data))
		r.number, r.data = r.number+1, r.data[:0]
	}
}

// saveFile answers QTSave: it writes a trace file.
func (x *Experiment) saveFile(p rsp.SaveTrace) error {
	if x.opt.WriteFile == nil {
		return errors.New("this server writes no files; `tsave` without -r does")
	}
	if p.File == "" {
		return errors.New("the name of the trace file is empty")
	}
	x.Tick()
	if err := x.opt.WriteFile(string(p.File), x.Save); err != nil {
		return fmt.Errorf("save the trace: %w", err)
	}
	return nil
}

// Save writes a trace file that GDB's `target tfile` opens. Definitions that are
// too long for one are left out, and Options.Log gets a line: GDB takes tracepoints
// from their source texts.
func (x *Experiment) Save(w io.Writer) error {
	f := rsp.TraceFile{
		RegisterSize: x.regs.Size,
		Status:       x.traceStatus(),
		Variables:    x.uploadedVariables(),
		Target:       x.opt.Target.XML(),
	}
	// The last one first, as GDB writes them: it turns them round when it reads.
	for _, tp := range slices.Backward(x.tracepoints) {
		f.Pieces = append(f.Pieces, x.definition(tp, splitSource)...)
	}
	for i, p := range f.Pieces {
		// GDB cannot make static tracepoints of a file: it asks the file for markers.
		if tp, ok := p.(rsp.UploadedTracepoint); ok {
			tp.Static = false
			f.Pieces[i] = tp
		}
	}
	head, err := f.Header()
	if err != nil {
		x.log("left out of the trace file: %v", err)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if err := x.writeFrames(w); err != nil {
		return err
	}
	_, err = w.Write(rsp.TraceFileEnd)
	return err
}

// writeFrames writes all frames, encoded, in large pieces.
func (x *Experiment) writeFrames(w io.Writer) (err error) {
	const piece = 64 << 10
	var out []byte
	x.buffer.each(func(f *frame) bool {
		if out = x.encode(out, f); len(out) >= piece {
			_, err = w.Write(out)
			out = out[:0]
		}
		return err == nil
	})
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

// splitSource cuts a source text so that each piece fits into a line of a trace
// file, which has at most 999 bytes: two digits for each byte, and its head.
func splitSource(s rsp.UploadedSource) []rsp.UploadedSource {
	const line, numbers = 999, 3 + 2*16 // `tp `, start and length
	head := len(rsp.Encode(rsp.UploadedSource{Number: s.Number, Addr: s.Addr, Kind: s.Kind}))
	return rsp.SplitSource(s, max(1, (line-numbers-head)/2))
}
