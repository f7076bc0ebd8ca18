package jalon

import (
	"iter"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
)

// Event is one hit of a tracepoint.
type Event struct {
	Time      time.Time
	Monotonic time.Duration // CLOCK_MONOTONIC
	CPU       int
	PID, TID  int // TID is 0 if the thread is not known
	Comm      string
	Schema    *Schema
	// Overwritten: no hit can have had the time stamp of the record, so the traced program has overwritten
	// the record. Time is when the record was read.
	Overwritten bool
	// Untimed: the trace has [NoClock]. Time is when the record was read.
	Untimed bool

	ev event.Event
	t  *Trace
}

// Schema describes the events of one site.
type Schema struct {
	Place    string // as the user wrote it
	Function string // "" if not known; so is File
	File     string
	Line     int
	PC       uint64 // run-time address
	Fields   []Field
}

// Field is one collected expression.
type Field struct {
	Name  string // the expression as the user wrote it
	Type  string // its type in the source language; "" for registers and stacks
	Group string // "$args", "$locals", "$args@1", ... if the field is part of it; "$_sdata": an argument of a system call
}

func newSchema(s *event.Schema) *Schema {
	out := &Schema{Place: s.Place, Function: s.Function, File: s.File, Line: s.Line, PC: s.PC}
	for i := range s.Fields {
		f := &s.Fields[i]
		field := Field{Name: f.Name, Group: f.Group}
		if f.Type != nil {
			field.Type = format.TypeName(f.Type, false)
		}
		out.Fields = append(out.Fields, field)
	}
	return out
}

// Events returns the events in the order of time, as they arrive, until the trace is over. Each event is
// returned once: two loops share them. With Options.Output there are none.
func (t *Trace) Events() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		if t.queue == nil {
			return
		}
		for {
			list := t.queue.take()
			if len(list) == 0 {
				return
			}
			for i, ev := range list {
				if !yield(ev) {
					t.queue.putBack(list[i+1:])
					return
				}
			}
		}
	}
}

// Values returns the values of the event with the names of their fields.
func (e *Event) Values() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range e.Schema.Fields {
			if !yield(e.Schema.Fields[i].Name, e.Value(i)) {
				return
			}
		}
	}
}

// Value returns the value of field i of the schema.
func (e *Event) Value(i int) Value { return Value{e: e, v: e.ev.Value(i)} }

// Lookup returns the value of the first field with the name.
func (e *Event) Lookup(name string) (Value, bool) {
	for i := range e.Schema.Fields {
		if e.Schema.Fields[i].Name == name {
			return e.Value(i), true
		}
	}
	return Value{}, false
}
