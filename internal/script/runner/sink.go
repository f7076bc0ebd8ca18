package runner

import (
	"encoding/binary"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/session"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// sink executes the probes of a session's events. Its methods are called on the session's goroutine.
type sink struct {
	s     *running
	sess  *session.Session
	lines bool // show_debug_info
}

// Event implements drain.Sink.
func (k *sink) Event(ev *event.Event) error {
	site := k.s.sites[k.sess.Tracepoint(ev.Schema)]
	if site == nil || k.s.err != nil { // its library has been unloaded, or a probe has failed
		return nil
	}
	h := &interp.Hit{
		Site: site, Pid: ev.Pid, Tid: ev.Tid, CPU: ev.CPU, Comm: ev.Comm, Time: uint64(ev.TimeNS),
		Function: ev.Schema.Function, Place: ev.Schema.Place, Record: record{ev, k.sess, k.lines},
	}
	if err := k.s.machine.Hit(k.s.ctx, h); err != nil {
		k.s.err = err
		k.s.cancel()
	}
	return nil
}

// Flush implements drain.Sink.
func (k *sink) Flush() error { return nil }

// record is the record of an event.
type record struct {
	ev    *event.Event
	sess  *session.Session
	lines bool // frames have their lines
}

// Field implements interp.Record.
func (r record) Field(i int) (data []byte, cut bool, why string) {
	if i >= len(r.ev.Schema.Fields) {
		return nil, false, "the site did not record it"
	}
	v := r.ev.Value(i)
	if v.Status != event.OK {
		return nil, false, v.Explain()
	}
	return v.Data, v.Truncated, ""
}

// Stack implements interp.Record.
func (r record) Stack(i int) (frames []printf.Frame, why string) {
	v := r.ev.Value(i)
	if v.Status != event.OK {
		return nil, v.Explain()
	}
	return shownFrames(r.sess.Unwind(r.ev, &v), r.lines), ""
}

// shownFrames are frames as scripts show them; lines: with their lines.
func shownFrames(list []debuginfo.Frame, lines bool) (frames []printf.Frame) {
	for _, f := range list {
		fr := printf.Frame{PC: f.PC, Function: f.Function, Offset: f.Offset, Module: f.Module, Inlined: f.Inlined, BuildID: f.BuildID, FileOffset: f.FileOffset}
		if lines {
			fr.File, fr.Line = f.File, f.Line
		}
		frames = append(frames, fr)
		switch f.Cut {
		case "", unwind.Deep.String(): // that is the limit of frames
		case debuginfo.ByPointers:
			frames = append(frames, printf.Frame{Function: f.Cut, Note: true})
		case debuginfo.ThroughMade:
			frames = append(frames, printf.Frame{Function: f.Cut, Note: true, End: true})
		default:
			frames = append(frames, printf.Frame{Function: "the stack goes on: " + f.Cut, Note: true, End: true})
		}
	}
	return frames
}

// Symbol implements interp.Record.
func (r record) Symbol(addr uint64) string {
	v := event.Value{Field: &event.Field{Kind: event.UserFrames}, Data: binary.LittleEndian.AppendUint64(nil, addr)}
	if list := r.sess.Unwind(r.ev, &v); len(list) > 0 {
		return list[0].Function
	}
	return ""
}

// names are the names of addresses.
type names struct{ s *running }

// Kernel implements interp.Names.
func (n names) Kernel(addr uint64) string {
	if n.s.sess == nil {
		return ""
	}
	name, _, _ := strings.Cut(n.s.sess.Symbol(addr), "+")
	return name
}

// User implements interp.Names.
func (n names) User(_ int, addr uint64) string {
	if n.s.sess == nil {
		return ""
	}
	name, _, _ := strings.Cut(n.s.sess.Symbol(addr), "+")
	return name
}
