package session

import (
	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// names resolves the addresses in a session's events.
type names struct {
	clock *event.Clock
	mine  *arming.Process
	kern  *arming.Kernel
}

// WallOffset returns the difference of the wall clock and CLOCK_MONOTONIC, in nanoseconds.
func (n *names) WallOffset() int64 { return n.clock.WallOffset() }

// Tracepoint returns the tracepoint of an event; nil if its library has been unloaded.
func (s *Session) Tracepoint(of *event.Schema) *tracepoint.Tracepoint { return s.records.Of(of) }

// Symbol names a run-time address in code or data: "main", "main+4"; "" if unknown.
func (n *names) Symbol(addr uint64) string {
	if n.kern.Engine != nil && image.InKernel(addr) {
		return n.kern.Engine.Symbol(addr)
	}
	return n.mine.Engine.Symbol(addr)
}

// KernelSymbol implements event.KernelNames.
func (n *names) KernelSymbol(addr uint64) (event.KernelSymbol, bool) {
	if n.kern.Engine == nil {
		return event.KernelSymbol{}, false
	}
	return n.kern.Engine.KernelSymbol(addr)
}

// KernelString implements event.KernelNames.
func (n *names) KernelString(addr uint64) (string, bool) {
	if n.kern.Engine == nil {
		return "", false
	}
	return n.kern.Engine.KernelString(addr)
}

// Unwind returns the frames of a stack.
func (n *names) Unwind(ev *event.Event, v *event.Value) []debuginfo.Frame {
	if ev.Schema.Kernel && !n.kern.Engine.Followed(ev, v) {
		return n.kern.Engine.Unwind(ev, v)
	}
	from, to := n.span(ev)
	return n.mine.Engine.Unwind(v, from, to)
}

// span is when a hit may have been.
func (n *names) span(ev *event.Event) (from, to int64) {
	if ev.From != ev.To {
		return n.clock.Mono(ev.From), n.clock.Mono(ev.To)
	}
	return ev.TimeNS, ev.TimeNS
}

// Epoch identifies the modules by which Unwind names the frames of a stack of the program: equal stacks of one epoch have equal names.
func (n *names) Epoch(ev *event.Event, v *event.Value) uint64 {
	switch {
	case v.Field.Kind != event.UserFrames && v.Field.Kind != event.Stack:
		return 0
	case ev.Schema.Kernel && !n.kern.Engine.Followed(ev, v):
		return n.kern.Engine.Epoch(ev)
	}
	return n.mine.Engine.Epoch(n.span(ev))
}

// Stack is a stack of the process by its number in keys of maps. It is called on the session's goroutine, or after Run.
func (s *Session) Stack(number uint64) []debuginfo.Frame {
	if s.mine.Engine == nil || s.mine.Engine.Rings() == nil || s.mine.Engine.Rings().Stacks() == nil {
		return nil
	}
	pcs, end := s.mine.Engine.Rings().Stacks().Frames(uint32(number))
	now := event.Monotonic()
	return s.mine.Engine.Unwind(&event.Value{Field: &event.Field{Kind: event.UserFrames}, Data: pcs, End: end}, now, now)
}

// Thread is the thread that has a thread pointer; its number is 0 if none is known, or several have it. It is called on the session's
// goroutine, or after Run.
func (s *Session) Thread(thread uint64) event.Thread {
	th, known := s.records.Threads.Lookup(thread, event.TSC())
	if !known && s.mine.Source != nil && s.mine.Source.Learn != nil && !s.records.Threads.Knows(thread) {
		s.mine.Source.Learn()
		th, _ = s.records.Threads.Lookup(thread, event.TSC())
	}
	if s.records.Threads.Inherits(th.Tid) { // its name was not read since its birth
		s.records.Threads.Named(th.Tid, drain.Comm(s.Pid(), th.Tid))
		th, _ = s.records.Threads.Lookup(thread, event.TSC())
	}
	return th
}

// SiteOf is the site of one of the engines that has a number; nil if there is none. It is called on the session's goroutine, or after Run.
func (s *Session) SiteOf(kernel bool, number uint64) *event.Schema {
	for _, src := range s.records.Sources() {
		if x := src.Schema(number); src.Kernel == kernel && x != nil {
			return x
		}
	}
	return nil
}
