package event

import "github.com/jalon-trace/jalon/internal/ctype"

// KernelText is how the kernel prints the records of a static tracepoint: its print
// format as the kernel publishes it, and what the format needs beside the record.
// Package printk makes it and prints by it.
type KernelText struct {
	Event string // "sched_switch"
	// Format is the C source behind `print fmt:`. It may be one that package printk
	// does not understand; the text says so then.
	Format string
	Fields []TextField
	// Call is set for the events of system calls ("openat"), which the kernel prints
	// without their format: the names and values of the Args, or what was returned.
	Call   string
	Return bool
	Args   []TextArg

	// HZ is the kernel's ticks in a second, 0: not known. TickCount: the first four
	// bytes of a record are the low half of the tick count (jiffies) at its time.
	HZ        uint64
	TickCount bool
	// Constants are the enumerators and variables that the format names, Types the
	// types that it casts to. Those that the kernel does not know are absent.
	Constants []TextConstant
	Types     []TextType
}

// TextField is a field of the record, by the name that the format has for it.
type TextField struct {
	Name         string
	Type         *ctype.Type
	Offset, Size int64
	Signed       bool
}

// TextArg is an argument of a system call: a word of the record.
type TextArg struct {
	Name   string
	Offset int64
}

// TextConstant is an enumerator, or a variable whose value does not change.
type TextConstant struct {
	Name     string
	Value    int64
	Variable bool
}

// TextType is a type by the name that C writes for it ("struct page", "gfp_t").
type TextType struct {
	Name string
	Type *ctype.Type
}
