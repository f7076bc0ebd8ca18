package tracefs

import (
	"sync"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// commonSize is the length of the fields that every record begins with
// (common_type, common_flags, common_preempt_count, common_pid). A program
// attached to a tracepoint cannot read them.
const commonSize = 8

// Event is one static tracepoint, from its format file.
type Event struct {
	System, Name string
	ID           int // the number in common_type, and for perf_event_open
	// Fields are all the fields, the common ones first, in the order of the file.
	Fields []Field
	// PrintFmt is the rest of the line `print fmt:`: the format string with its arguments in C. It may span
	// several lines.
	PrintFmt string

	once   sync.Once
	record *ctype.Type
}

// Field is one field of a record.
type Field struct {
	Name string
	// Decl is the kernel's declaration: "char comm[16]".
	Decl string
	// Type is the declared type. If a declared integer is narrower than the field (arguments of system calls),
	// the value is in the low bytes.
	Type   *ctype.Type
	Offset int64 // from the record's first byte
	Size   int64 // bytes; 0 for a flexible array at the record's end
	Signed bool
}

// Common means that every event has this field.
func (f *Field) Common() bool { return f.Offset+f.Size <= commonSize && f.Size > 0 }

// Field finds a field by name, or returns nil.
func (e *Event) Field(name string) *Field {
	for i := range e.Fields {
		if e.Fields[i].Name == name {
			return &e.Fields[i]
		}
	}
	return nil
}

// Record returns the type of *args: the struct of the event's own fields (without the common ones), with
// offsets from the record's first byte. Its tag is the kernel's name.
func (e *Event) Record() *ctype.Type {
	e.once.Do(func() {
		t := &ctype.Type{Kind: ctype.Struct, Name: "trace_event_raw_" + e.Name}
		var members []ctype.Field
		for i := range e.Fields {
			f := &e.Fields[i]
			t.Size = max(t.Size, f.Offset+f.Size)
			if !f.Common() {
				members = append(members, ctype.Field{Name: f.Name, Type: f.Type, BitOffset: f.Offset * 8})
			}
		}
		t.SetFields(members)
		e.record = t
	})
	return e.record
}

// The names of the typedefs that mark dynamic arrays.
const (
	dataLoc = "__data_loc"
	relLoc  = "__rel_loc"
)

// dynamic is the type of a dynamic array's word.
func dynamic(mark string, elem *ctype.Type) *ctype.Type {
	return &ctype.Type{Kind: ctype.Typedef, Name: mark, Size: 4, Elem: ctype.ArrayOf(elem, -1)}
}
