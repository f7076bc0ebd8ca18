package tracefs

import (
	"sync"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// commonSize is the length of the fields that every record begins with
// (common_type, common_flags, common_preempt_count, common_pid). A program
// attached to a tracepoint cannot read them.
const commonSize = 8

// Event is one static tracepoint as its format file describes it.
type Event struct {
	System, Name string
	ID           int // the number in common_type; what perf_event_open takes
	// Fields are all the fields, the common ones first, in the order of the file.
	Fields []Field
	// PrintFmt is the rest of the line `print fmt:`: the format string with its
	// arguments as C wrote them. It may go on over several lines.
	PrintFmt string

	once   sync.Once
	record *ctype.Type
}

// Field is one field of a record.
type Field struct {
	Name string
	// Decl is the declaration as the kernel wrote it: "char comm[16]".
	Decl string
	// Type is what the declaration says. Where a declared integer is narrower
	// than its place (the arguments of system calls) it is the declared type, which
	// has the low bytes.
	Type   *ctype.Type
	Offset int64 // from the record's first byte
	Size   int64 // bytes; 0 for a flexible array at the record's end
	Signed bool
}

// Common says that every event has this field.
func (f *Field) Common() bool { return f.Offset+f.Size <= commonSize && f.Size > 0 }

// Field finds a field by its name, nil when there is none.
func (e *Event) Field(name string) *Field {
	for i := range e.Fields {
		if e.Fields[i].Name == name {
			return &e.Fields[i]
		}
	}
	return nil
}

// Record is the struct of the event's own fields (without the common ones) at
// their offsets from the record's first byte: the type of *args. Its tag is the
// kernel's name for it.
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
