package event

import "github.com/jalon-trace/jalon/internal/ctype"

// KernelText describes how the kernel prints the records of a static tracepoint: its print format as the
// kernel publishes it, and the other data that the format uses. Package printk makes it and prints with it.
type KernelText struct {
	Event string // "sched_switch"
	// Format is the C source after `print fmt:`. Package printk may not understand it; the printed text
	// then contains the reason.
	Format string
	Fields []TextField
	// Call is set for events of system calls ("openat"). The kernel prints these without the format: as the
	// names and values of the Args, or as the return value.
	Call   string
	Return bool
	Args   []TextArg

	// HZ is the number of kernel ticks in a second; 0 if not known. TickCount: the first four bytes of a
	// record are the low half of the tick count (jiffies) at the time of the record.
	HZ        uint64
	TickCount bool
	// Constants are the enumerators and variables that the format uses, Types the types that it casts to.
	// Those that the kernel does not have are absent.
	Constants []TextConstant
	Types     []TextType
}

// TextField is a field of the record, with the name that the format uses.
type TextField struct {
	Name         string
	Type         *ctype.Type
	Offset, Size int64
	Signed       bool
}

// CallStrings is the group of the fields that have the strings at the arguments of a system call, beside its record.
const CallStrings = "$_sdata"

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

// TextType is a type with its name in C ("struct page", "gfp_t").
type TextType struct {
	Name string
	Type *ctype.Type
}
