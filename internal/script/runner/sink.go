package runner

import (
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/session"
)

// sink executes the probes of a session's events. Its methods are called on the session's goroutine.
type sink struct {
	s    *running
	sess *session.Session
}

// Event implements drain.Sink.
func (k *sink) Event(ev *event.Event) error {
	site := k.s.sites[k.sess.Tracepoint(ev.Schema)]
	if site == nil || k.s.err != nil { // its library has been unloaded, or a probe has failed
		return nil
	}
	h := &interp.Hit{
		Site: site, Pid: ev.Pid, Tid: ev.Tid, CPU: ev.CPU, Comm: ev.Comm, Time: uint64(ev.TimeNS),
		Function: ev.Schema.Function, Place: ev.Schema.Place, Record: record{ev, k.sess},
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
	ev   *event.Event
	sess *session.Session
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
	for _, f := range r.sess.Unwind(r.ev, &v) {
		frames = append(frames, printf.Frame{PC: f.PC, Function: f.Function, Offset: f.Offset, Module: f.Module})
	}
	return frames, ""
}

// names are the names of addresses.
type names struct{ s *running }

// Kernel implements interp.Names.
func (n names) Kernel(addr uint64) string {
	if n.s.sess == nil {
		return ""
	}
	return n.s.sess.Symbol(addr)
}

// User implements interp.Names.
func (n names) User(_ int, addr uint64) string {
	if n.s.sess == nil {
		return ""
	}
	return n.s.sess.Symbol(addr)
}
