package agentexpr

import "fmt"

// Frame is what a hit collected: GDB's trace frame.
type Frame struct {
	Regs     []RegValue
	Blocks   []Block // in the order of the actions and of the bytecode
	Failures []Failure
}

// RegValue is a collected register, as in the g packet.
type RegValue struct {
	Num  int
	Data []byte
}

// BlockKind says what a block is.
type BlockKind uint8

// The kinds of blocks.
const (
	MemoryBlock BlockKind = iota // Data is what was at Addr
	VarBlock                     // Value is what trace state variable Var was
	PrintBlock                   // Printed
	ValueBlock                   // Value is what the expression left (Action.Value)
	StaticBlock                  // Data is the static tracepoint's own record
)

// Block is one collected thing. Action and PC say by which instruction.
type Block struct {
	Kind       BlockKind
	Action, PC int
	Addr       uint64
	Data       []byte
	// Truncated: there was more of it than the record holds; Cut: the string ran
	// into memory that cannot be read.
	Truncated, Cut bool
	Var            int
	Value          uint64
	// Now says of a variable that it is the time: the record's own.
	Now     bool
	Printed *Printed
}

// Fail is why an evaluation ended early.
type Fail uint8

// The failures.
const (
	NoFail       Fail = iota
	BadMemory         // Addr could not be read
	DivideByZero      // of division or remainder
	NoValue           // a predefined variable has none here; of the interpreter only
)

// Failure is an expression that ended early: what it would have collected from
// PC on is not there.
type Failure struct {
	Action, PC int
	Kind       Fail
	Addr       uint64
}

// String is the failure in words.
func (f *Failure) String() string {
	switch f.Kind {
	case DivideByZero:
		return "division by zero"
	case NoValue:
		return "a variable has no value here"
	}
	return fmt.Sprintf("unreadable address %#x", f.Addr)
}
