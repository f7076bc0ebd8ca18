// Package event describes the records of a site by a schema (the expression for each range of bytes), and
// decodes records to events.
//
// A bit-field is recorded as its extracted value in the bytes of its type.
//
// Import rule: event imports ctype, procdir and ring only.
package event

import "github.com/jalon-trace/jalon/internal/ctype"

// Status is OK if a field has its value; otherwise it is the reason.
type Status uint8

// The states of a field.
const (
	OK            Status = iota
	Unreadable           // a guarded read of Addr failed
	DivideByZero         // integer division or remainder by zero
	OptimisedOut         // known at compile time: debug information gives no location
	Truncated            // the value is longer than its slot
	Unsupported          // known at compile time; Reason has the cause
	BadBounds            // a repeat count (p@n) that is negative or too large
	BadIndex             // an index that is not below the number of elements
	NoEntry              // the entry of the call that returns was not seen
	FailedAtEntry        // there was no value at the entry
	NotAllocated         // an array of Fortran has no elements now
	NotAssociated        // a pointer to an array of Fortran has no target now
	OtherFrame           // a variable of a caller, and another call has led here
)

// FieldKind is the layout of a slot.
type FieldKind uint8

// The slot layouts.
const (
	// Fixed: Size bytes of the value itself.
	Fixed FieldKind = iota
	// Counted: u32 length in bytes, u32 flags (1 = truncated), then the bytes: strings, p@n.
	Counted
	// Regs: the words of the processor's Dump (package arch): GDB's order.
	Regs
	// Stack: Regs, then as Counted a copy of the stack from rsp up: unwound by the reader.
	Stack
	// Header: no slot; the value is the record's own ($tid, $cpu, $time, $pid, $comm).
	Header
	// KernelFrames and UserFrames: as Counted, return addresses (u64), innermost first.
	KernelFrames
	UserFrames
	// SData: as Counted, a static tracepoint's own record ($_sdata), from its first byte. Of the first 8 bytes
	// (common_*) only common_pid is set; the others are zero. Text is the kernel's print format; Type is the
	// struct of its fields.
	SData
)

// Field is one collected expression of a site.
type Field struct {
	Name   string      // the expression as the user wrote it
	Type   *ctype.Type // its C type; nil for Regs, Stack, Header
	Kind   FieldKind
	Offset int // of the slot in the record, bytes
	Size   int // of the slot, bytes
	// StatusOffset is the offset of the status byte in the record; -1 if the field cannot fail. If Status is
	// Unreadable, the slot starts with the fault address (8 bytes).
	StatusOffset int
	// Static is the field's status if it never has a value at this site; Reason is the reason as text.
	Static Status
	Reason string
	// Show is the print format of the value. It does not affect the layout.
	Show Show
	// Group is "$args" or "$locals" if the field is part of such an expansion, "$_sdata" if it has the string at an argument of
	// the system call whose record is collected, otherwise "".
	Group string
	// If StrSize > 0, StrOffset, StrSize and StrStatusOffset describe a second, Counted slot with the string at
	// a char* value. StrStatusOffset is -1 if it cannot fail.
	StrOffset, StrSize, StrStatusOffset int
	// AddrOffset, if not 0, is the offset of the 8 bytes of the value's address. Arrays in a struct that
	// have no recorded elements are shown by their address.
	AddrOffset int
	// Gaps are the parts of a Fixed value that have no value at this site, in order. Their bytes in the
	// record mean nothing. Reason, if not empty, is why; otherwise they are optimised out.
	Gaps []Gap
	// Bases are the virtual bases of a Fixed value and of its parts, in the order in which they are shown.
	Bases []VirtualBase
	// Texts are the texts that parts of a Fixed value lead to.
	Texts []MemberText
	// Grid, of a Counted value, says how its elements lie.
	Grid *Grid
	// Copied, of UserFrames, is the field in records of RecordSize, which have a copy of the stack (kind Stack): those of
	// ShortSize have the frames.
	Copied *Field
	// Text, of SData, describes how the kernel prints a record; nil if not known.
	Text *KernelText
}

// Gap is the bits [From, To) of a value.
type Gap struct{ From, To int64 }

// Show is GDB's print/FMT: the letters and the count, zero if absent.
type Show struct {
	Letter, Size byte
	Count        int
}

// Elapsed is a slot of 8 bytes that has a time stamp in the ring. A Decoder puts the time from then to the record's stamp
// there, in nanoseconds: an event's head has only the low bits of its time, so the site would have to read the counter again.
type Elapsed struct {
	Offset int
	Status int     // the offset of the status byte; -1: there is always a value
	Rate   float64 // nanoseconds for each tick
}

// Schema describes the layout of the records of one site and how to print them. It is plain data: Encode
// writes it, and Decode reads it on another machine.
type Schema struct {
	SiteID     uint32
	Place      string // as the user wrote it
	Function   string
	File       string
	Line       int
	Moved      int    // line of the site where the line that Place names has no code; 0: it has, or names none
	PC         uint64 // run-time address
	RecordSize int    // bytes, header included
	// ShortSize is another size that records may have; 0 if there is none.
	ShortSize int
	// StackNumber, if not 0, is the offset of the u32 number of the stack in records of ShortSize: a Decoder gives
	// them the frames (UserFrames), which other records have themselves.
	StackNumber int
	// NoRecord: hits change maps and leave no record.
	NoRecord bool
	// Elapsed are slots that a Decoder gives their values.
	Elapsed []Elapsed
	Fields  []Field
	// Kernel marks the records of the kernel engine. Their stamp is CLOCK_MONOTONIC in nanoseconds; their
	// thread word is tgid << 32 | tid in the initial pid namespace. CommOffset, if not 0, is the offset of
	// the 16 bytes of the thread's name.
	Kernel     bool
	CommOffset int
	// TextArrays means that arrays of characters contain text up to the first NUL, as in the kernel.
	TextArrays bool
	// Flat: in a recording, values that can fail are there in any case, beside their status, as zeros or empty texts: viewers that know
	// LTTng's events do not look into variants.
	Flat bool
}
