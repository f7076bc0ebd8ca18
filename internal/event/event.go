// Package event describes what comes back from a site: the schema of its
// records (which bytes are which expression), and decoded events.
//
// A bit-field is recorded as its extracted value in the bytes of its type.
//
// Import rule: event imports ctype and ring only.
package event

import "github.com/jalon-trace/jalon/internal/ctype"

// Status says whether a field has its value, and if not, why.
type Status uint8

// The states of a field.
const (
	OK           Status = iota
	Unreadable          // a guarded read failed; Addr says where
	DivideByZero        // integer division or remainder by zero
	OptimisedOut        // known when the site was compiled: debug info gives no location
	Truncated           // the value is longer than its slot
	Unsupported         // known when the site was compiled; Reason says what
	BadBounds           // a repeat count (p@n) that is negative or too large
)

// FieldKind says how the bytes of a slot are laid out.
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
	// SData: as Counted, a static tracepoint's own record as the kernel made it,
	// from its first byte on ($_sdata); of the first 8 bytes (common_*) only
	// common_pid is filled in, the others are zero. Text is how the kernel would
	// print it; Type is the struct of its fields.
	SData
)

// Field is one collected expression of a site.
type Field struct {
	Name   string      // the expression as the user wrote it
	Type   *ctype.Type // its C type; nil for Regs, Stack, Header
	Kind   FieldKind
	Offset int // of the slot in the record, bytes
	Size   int // of the slot, bytes
	// StatusOffset is the offset of the status byte in the record; -1 when the
	// field cannot fail. A failed field's slot starts with the fault address
	// (8 bytes) when Status is Unreadable.
	StatusOffset int
	// Static is the field's state when it never has a value here; Reason says why in words.
	Static Status
	Reason string
	// Show is how the value is printed. The layout does not depend on it.
	Show Show
	// Group is "$args", "$locals" when the field is part of such an expansion, else "".
	Group string
	// StrOffset, StrSize and StrStatusOffset describe, when StrSize > 0, a second,
	// Counted slot with the string that a char* value points to. StrStatusOffset
	// is -1 when it cannot fail.
	StrOffset, StrSize, StrStatusOffset int
	// AddrOffset, when not 0, is where the 8 bytes of the value's address are: arrays
	// without elements of their own, in a struct, are shown by theirs.
	AddrOffset int
	// Text, of SData, is how the kernel prints a record; nil: not known.
	Text *KernelText
}

// Show is GDB's print/FMT: the letters and the count, zero when absent.
type Show struct {
	Letter, Size byte
	Count        int
}

// Schema is the layout of the records of one site, and what is needed to print them.
// It is plain data: Encode writes it, Decode reads it on another machine.
type Schema struct {
	SiteID     uint32
	Place      string // as the user wrote it
	Function   string
	File       string
	Line       int
	PC         uint64 // run-time address
	RecordSize int    // bytes, header included
	// ShortSize is another size that records may have; 0: none.
	ShortSize int
	Fields    []Field
	// Kernel marks the records of the kernel engine: their stamp is
	// CLOCK_MONOTONIC in nanoseconds and their thread word tgid << 32 | tid, of
	// the initial pid namespace. CommOffset, when not 0, is where the 16 bytes
	// of the thread's name are.
	Kernel     bool
	CommOffset int
	// TextArrays says that arrays of characters hold text that ends with its first NUL,
	// as the kernel's do.
	TextArrays bool
}
