package ctf

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
)

// Unwind returns the frames of a field with a stack, innermost first; nil if they are not known. It is a format.Unwinder. Equal stacks
// share their frames.
func (t *Trace) Unwind(ev *event.Event, v *event.Value) []debuginfo.Frame {
	number := stackNumber(ev, v.Field)
	if number == 0 {
		return nil
	}
	return t.State.Frames(number)
}

// stackNumber is the number of the stack of a field, 0 if it has none.
func stackNumber(ev *event.Event, f *event.Field) uint32 {
	at := ev.Schema.RecordSize
	for i := range ev.Schema.Fields {
		x := &ev.Schema.Fields[i]
		if !hasStack(x) {
			continue
		}
		if x == f && at+4 <= len(ev.Raw) {
			return binary.LittleEndian.Uint32(ev.Raw[at:])
		}
		at += 4
	}
	return 0
}

// hasStack reports whether a plan has a step with the number of a stack for a field.
func hasStack(f *event.Field) bool {
	return f.Static == event.OK && (f.Kind == event.Stack || f.Kind == event.KernelFrames || f.Kind == event.UserFrames)
}

// StackOf is the number of the first stack of an event, 0 if it has none. Equal numbers are equal stacks.
func StackOf(ev *event.Event) uint32 {
	for i := range ev.Schema.Fields {
		if f := &ev.Schema.Fields[i]; hasStack(f) {
			return stackNumber(ev, f)
		}
	}
	return 0
}
