package agentexpr

import (
	"encoding/binary"
	"fmt"
)

// Insn is one instruction.
type Insn struct {
	PC  int // offset of its first byte
	Op  Op
	Arg uint64 // the operand, not sign-extended
	// Args and Format, of printf: how many arguments, and the text without its NUL.
	Args   int
	Format string
}

// Error says what is wrong with bytecode, and where.
type Error struct {
	PC   int // offset of the instruction
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("agent expression, byte %d: %s", e.PC, e.Text) }

func errorAt(pc int, format string, args ...any) error {
	return &Error{pc, fmt.Sprintf(format, args...)}
}

// MaxLength is the longest expression in bytes: jumps have 16 bits.
const MaxLength = 1<<16 - 1

// Decode reads all of code as instructions that follow each other. The error is
// an *Error: an operation that does not exist or is cut off, a printf whose
// text has no NUL at its end or one before.
func Decode(code []byte) ([]Insn, error) {
	if len(code) > MaxLength {
		return nil, errorAt(0, "%d bytes are more than the %d that jumps can reach", len(code), MaxLength)
	}
	var list []Insn
	for pc := 0; pc < len(code); {
		in, n, err := decodeOne(code, pc)
		if err != nil {
			return nil, err
		}
		list = append(list, in)
		pc += n
	}
	return list, nil
}

// decodeOne reads the instruction at pc and says how long it is.
func decodeOne(code []byte, pc int) (Insn, int, error) {
	in := Insn{PC: pc, Op: Op(code[pc])}
	info, ok := in.Op.info()
	if !ok {
		return in, 0, errorAt(pc, "there is no operation %#02x", code[pc])
	}
	rest := code[pc+1:]
	if len(rest) < info.size {
		return in, 0, errorAt(pc, "%v needs %d bytes, %d are there", in.Op, info.size, len(rest))
	}
	if in.Op == OpPrintf {
		return decodePrintf(in, rest)
	}
	for _, b := range rest[:info.size] {
		in.Arg = in.Arg<<8 | uint64(b)
	}
	return in, 1 + info.size, nil
}

func decodePrintf(in Insn, rest []byte) (Insn, int, error) {
	in.Args = int(rest[0])
	n := int(binary.BigEndian.Uint16(rest[1:]))
	rest = rest[3:]
	if n > len(rest) {
		return in, 0, errorAt(in.PC, "printf needs a text of %d bytes, %d are there", n, len(rest))
	}
	for i, b := range rest[:n] {
		if last := i == n-1; (b == 0) != last {
			return in, 0, errorAt(in.PC, "the text of printf does not end where its NUL is")
		}
	}
	if n == 0 {
		return in, 0, errorAt(in.PC, "the text of printf has no NUL")
	}
	in.Format = string(rest[:n-1])
	return in, 1 + 3 + n, nil
}

// Len is the length of in as bytes.
func (in *Insn) Len() int {
	info, _ := in.Op.info()
	if in.Op == OpPrintf {
		return 1 + info.size + len(in.Format) + 1
	}
	return 1 + info.size
}

// Pops is how many values in takes from the stack.
func (in *Insn) Pops() int {
	switch in.Op {
	case OpPrintf:
		return 2 + in.Args
	case OpPick:
		return int(in.Arg) + 1 // which stay there
	}
	return ops[in.Op].pops
}

// Pushes is the number of values that in pushes.
func (in *Insn) Pushes() int {
	if in.Op == OpPick {
		return int(in.Arg) + 2
	}
	return ops[in.Op].pushes
}

// Encode writes instructions as bytes. PC is not looked at: jumps go to the
// offsets that Arg says.
func Encode(list []Insn) []byte {
	var code []byte
	for i := range list {
		in := &list[i]
		code = append(code, byte(in.Op))
		if in.Op == OpPrintf {
			code = append(code, byte(in.Args))
			code = binary.BigEndian.AppendUint16(code, uint16(len(in.Format)+1))
			code = append(append(code, in.Format...), 0)
			continue
		}
		for n := ops[in.Op].size - 1; n >= 0; n-- {
			code = append(code, byte(in.Arg>>(8*n)))
		}
	}
	return code
}
