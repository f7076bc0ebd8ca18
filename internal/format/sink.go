package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/bounded"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
)

// Sink receives the events. Output may stay in a buffer until Flush.
type Sink = event.Sink

// Frame is one function of a stack trace.
type Frame = debuginfo.Frame

// Unwinder makes frames of a field, innermost first. Of kind Stack v.Data holds
// the registers, v.Stack the copy of the stack; of kinds KernelFrames and
// UserFrames v.Data holds the addresses of the frames, 8 bytes each, and there is
// no stack. The frames must not be changed: equal stacks may share them.
type Unwinder func(ev *event.Event, v *event.Value) []Frame

// regNames are the names of the words of a Regs slot.
var regNames = func() (names []string) {
	for _, r := range host.Processor.Dump {
		names = append(names, host.Processor.Register(r).Name)
	}
	return names
}()

// Words of it.
var (
	regFP    = slices.Index(host.Processor.Dump, host.Processor.FP)
	regSP    = slices.Index(host.Processor.Dump, host.Processor.SP)
	regPC    = slices.Index(host.Processor.Dump, host.Processor.PC)
	regFlags = slices.Index(host.Processor.Dump, host.Processor.Flags)
)

func register(data []byte, i int) uint64 {
	return binary.LittleEndian.Uint64(data[8*i:])
}

// frames unwinds, or gives at least the innermost frame.
func frames(unwind Unwinder, p *Printer, ev *event.Event, v *event.Value) []Frame {
	if unwind != nil {
		if list := unwind(ev, v); len(list) > 0 {
			return list
		}
	}
	if isFrames(v.Field.Kind) {
		return addresses(p, v)
	}
	f := Frame{PC: register(v.Data, regPC), Function: ev.Schema.Function, File: ev.Schema.File, Line: ev.Schema.Line}
	if f.PC != ev.Schema.PC && p.Symbol != nil {
		f = Frame{PC: f.PC, Function: p.Symbol(f.PC)}
	}
	return []Frame{f}
}

// output collects lines and writes them in large pieces.
type output struct {
	w    io.Writer
	buf  []byte
	ends []bounded.End // of events in buf
}

const outputSize = 64 << 10

// eventsEnd is called when buf has all of so many events.
func (o *output) eventsEnd(n uint64) error {
	o.ends = append(o.ends, bounded.End{At: len(o.buf), Events: n})
	return o.room()
}

func (o *output) room() error {
	if len(o.buf) < outputSize {
		return nil
	}
	return o.Flush()
}

// Flush writes what is in the buffer. The error may be that of an earlier text.
func (o *output) Flush() (err error) {
	if w, ok := o.w.(*bounded.Writer); !ok {
		if len(o.buf) > 0 {
			_, err = o.w.Write(o.buf)
		}
	} else if err = w.Err(); err == nil {
		err = w.WriteEvents(o.buf, o.ends)
	}
	o.buf, o.ends = o.buf[:0], o.ends[:0]
	if err != nil {
		return fmt.Errorf("writing the events: %w", err)
	}
	return nil
}
