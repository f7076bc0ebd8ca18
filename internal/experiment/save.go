package experiment

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jalon-trace/jalon/internal/rsp"
)

// maxRead bounds one answer to qTBuffer; GDB asks for less.
const maxRead = 32 << 10

// reading is a read of the whole buffer, piece by piece: base is where its first
// byte is, counted from the start of the run.
type reading struct {
	on   bool
	base uint64
}

// readBuffer answers qTBuffer. A read begins at offset 0. Frames that come meanwhile
// follow those that were there; when a circular buffer drops what was not read yet,
// the read fails.
func (x *Experiment) readBuffer(p rsp.ReadTraceBuffer) (rsp.Packet, error) {
	if p.Offset == 0 {
		x.Tick()
	}
	b, r := &x.buffer, &x.reading
	if p.Offset == 0 || !r.on {
		*r = reading{true, b.rawOldest()}
	}
	shift := b.rawOldest() - r.base // dropped since
	if p.Offset < shift {
		return nil, errors.New("the circular trace buffer has dropped frames while it was read; stop the trace first")
	}
	offset := p.Offset - shift
	if offset >= b.rawSize() {
		return rsp.EndOfList{}, nil
	}
	return rsp.TraceData{Data: b.read(nil, offset, min(p.Length, maxRead))}, nil
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
// too long for one are left out, which Options.Log is told: GDB takes tracepoints
// from their source texts.
func (x *Experiment) Save(w io.Writer) error {
	f := rsp.TraceFile{
		RegisterSize: x.regs.Size,
		Status:       x.traceStatus(),
		Variables:    x.uploadedVariables(),
		Target:       x.opt.Target.XML(),
	}
	// The last one first, as GDB writes them: it turns them round when it reads.
	slices.Reverse(f.Variables)
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
	for i, c := range x.buffer.chunks {
		data := c.data
		if i == 0 {
			data = data[x.buffer.rawHead():]
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	_, err = w.Write(rsp.TraceFileEnd)
	return err
}

// splitSource cuts a source text so that each piece fits into a line of a trace
// file, which has at most 999 bytes: two digits for each byte, and its head.
func splitSource(s rsp.UploadedSource) []rsp.UploadedSource {
	const line, numbers = 999, 3 + 2*16 // `tp `, start and length
	head := len(rsp.Encode(rsp.UploadedSource{Number: s.Number, Addr: s.Addr, Kind: s.Kind}))
	return rsp.SplitSource(s, max(1, (line-numbers-head)/2))
}
