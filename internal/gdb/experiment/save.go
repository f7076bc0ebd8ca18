package experiment

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// saver writes trace files.
type saver struct {
	*base
	buffer     *buffer
	catalogue  *catalogue
	runner     *runner
	encoder    *encoder
	statistics *statistics
	uploader   *uploader
}

func newSaver(x *Experiment, encoder *encoder) *saver {
	return &saver{
		base: x.base, buffer: x.buffer, catalogue: x.catalogue, runner: x.runner, encoder: encoder,
		statistics: x.statistics, uploader: x.uploader,
	}
}

// packets are those that it handles.
func (x *saver) packets() []row {
	return []row{done("QTSave", "writes a trace file", x.save)}
}

// save answers QTSave: it writes a trace file.
func (x *saver) save(p rsp.SaveTrace) error {
	if x.opt.WriteFile == nil {
		return errors.New("this server writes no files; `tsave` without -r does")
	}
	if p.File == "" {
		return errors.New("the name of the trace file is empty")
	}
	x.runner.Tick()
	if err := x.opt.WriteFile(string(p.File), x.Save); err != nil {
		return fmt.Errorf("save the trace: %w", err)
	}
	return nil
}

// Save writes a trace file that GDB's `target tfile` opens. Definitions that are
// too long for one are left out, and Options.Log gets a line: GDB takes tracepoints
// from their source texts.
func (x *saver) Save(w io.Writer) error {
	f := rsp.TraceFile{
		RegisterSize: x.regs.Size,
		Status:       x.statistics.traceStatus(),
		Variables:    x.uploader.uploadedVariables(),
		Target:       x.opt.Target.XML(),
	}
	// The last one first, as GDB writes them: it turns them round when it reads.
	for _, tp := range slices.Backward(x.catalogue.list) {
		f.Pieces = append(f.Pieces, x.uploader.definition(tp, splitSource)...)
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
func (x *saver) writeFrames(w io.Writer) (err error) {
	const piece = 64 << 10
	var out []byte
	x.buffer.each(func(f *frame) bool {
		if out = x.encoder.encode(out, f); len(out) >= piece {
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
