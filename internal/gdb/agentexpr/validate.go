package agentexpr

import "github.com/jalon-trace/jalon/internal/ir"

// Expr is an expression that Validate accepts.
type Expr struct {
	Code  []byte
	Insns []Insn
	// Depth is how many values are on the stack before each instruction; -1
	// where no way leads.
	Depth []int
	at    map[int]int // index in Insns by offset
	// targets are the offsets that jumps lead to.
	targets map[int]bool
	use     Use
}

// MaxDepth is how many values may be on the stack: as many as gdbserver's has.
const MaxDepth = 100

// Use is what an expression is for.
type Use uint8

// The uses.
const (
	ForAction    Use = iota // what it leaves on the stack is not looked at
	ForCondition            // every end needs a value on the stack; nothing is collected
)

// Validate decodes code and accepts it when every way through it is known to end
// well: it runs over whole instructions to an end, each of which finds the same
// number of values on the stack on whatever way it is reached, as many as it
// needs and no more than MaxDepth. Jumps lead forward, as all that GDB makes do,
// so every run ends after at most one step an instruction. What no way leads to
// must be instructions, too, and is left out. The error is an *Error.
func Validate(code []byte, use Use) (*Expr, error) {
	list, err := Decode(code)
	if err != nil {
		return nil, err
	}
	e := &Expr{Code: append([]byte(nil), code...), Insns: list, Depth: make([]int, len(list)), at: map[int]int{}, targets: map[int]bool{}, use: use}
	for i := range list {
		e.Depth[i] = -1
		e.at[list[i].PC] = i
	}
	if len(list) == 0 {
		return nil, errorAt(0, "it is empty")
	}
	e.Depth[0] = 0
	for i := range list {
		if e.Depth[i] < 0 {
			continue
		}
		if err := e.check(i, use); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// check looks at instruction i, which is reached, and passes the depth on.
func (e *Expr) check(i int, use Use) error {
	in, depth := &e.Insns[i], e.Depth[i]
	if f := operandChecks[in.Op]; f != nil {
		if err := f(in); err != nil {
			return err
		}
	}
	if use == ForCondition && collects(in.Op) {
		return errorAt(in.PC, "%v: a condition cannot collect", in.Op)
	}
	if need := in.Pops(); depth < need {
		return errorAt(in.PC, "%v needs %d values on the stack, %d are there", in.Op, need, depth)
	}
	if err := e.checkSize(i); err != nil {
		return err
	}
	depth += in.Pushes() - in.Pops()
	if depth > MaxDepth {
		return errorAt(in.PC, "more than %d values on the stack", MaxDepth)
	}
	switch in.Op {
	case OpEnd:
		if use == ForCondition && depth == 0 {
			return errorAt(in.PC, "the condition ends without a value")
		}
		return nil
	case OpGoto:
		return e.jump(in, depth)
	case OpIfGoto:
		if err := e.jump(in, depth); err != nil {
			return err
		}
	}
	if i+1 == len(e.Insns) {
		return errorAt(in.PC, "nothing follows, and this is no end")
	}
	return e.reach(in, i+1, depth)
}

// collects reports whether o adds to the trace frame.
func collects(o Op) bool {
	switch o {
	case OpTrace, OpTraceQuick, OpTrace16, OpTracenz, OpTracev, OpPrintf:
		return true
	}
	return false
}

func (e *Expr) jump(in *Insn, depth int) error {
	to, ok := e.at[int(in.Arg)]
	switch {
	case !ok:
		return errorAt(in.PC, "%v %d does not lead to an instruction", in.Op, in.Arg)
	case int(in.Arg) <= in.PC:
		return errorAt(in.PC, "%v %d leads back: it might never end, and GDB makes no such jumps", in.Op, in.Arg)
	}
	e.targets[int(in.Arg)] = true
	return e.reach(in, to, depth)
}

// reach passes the depth to instruction to.
func (e *Expr) reach(in *Insn, to, depth int) error {
	if have := e.Depth[to]; have >= 0 && have != depth {
		return errorAt(e.Insns[to].PC, "it is reached with %d values on the stack, and with %d from byte %d", have, depth, in.PC)
	}
	e.Depth[to] = depth
	return nil
}

// operandChecks are the rules for operands.
var operandChecks = map[Op]func(*Insn) error{
	OpFloat: noFloat, OpRefFloat: noFloat, OpRefDouble: noFloat, OpRefLongDbl: noFloat, OpLToD: noFloat, OpDToL: noFloat,
	OpExt: checkBits, OpZeroExt: checkBits,
	OpReg: func(in *Insn) error {
		switch {
		case in.Arg >= uint64(len(Registers)):
			return errorAt(in.PC, "there is no register %d", in.Arg)
		case !scalar(in.Arg):
			return errorAt(in.PC, "register %s has no value that an expression could use", Registers[in.Arg].Name)
		}
		return nil
	},
	OpPrintf: func(in *Insn) error {
		pieces, err := parseFormat(in.Format)
		if err != nil {
			return errorAt(in.PC, "printf: %v", err)
		}
		if n := countArgs(pieces); n != in.Args {
			return errorAt(in.PC, "the text of printf takes %d arguments, %d are given", n, in.Args)
		}
		return nil
	},
}

func noFloat(in *Insn) error {
	return errorAt(in.PC, "%v: floating point is reserved in the bytecode, and GDB makes none", in.Op)
}

func checkBits(in *Insn) error {
	if in.Arg < 1 || in.Arg > 64 {
		return errorAt(in.PC, "%v of %d bits", in.Op, in.Arg)
	}
	return nil
}

// checkSize looks at how much is collected at once.
func (e *Expr) checkSize(i int) error {
	in := &e.Insns[i]
	if in.Op != OpTrace && in.Op != OpTracenz {
		return nil
	}
	n, ok := e.sizeBefore(i)
	switch {
	case !ok && in.Op == OpTracenz:
		return errorAt(in.PC, "tracenz finds no number right before it, as GDB has it there")
	case n > ir.MaxRecord:
		return errorAt(in.PC, "%v of %d bytes; a record holds at most %d", in.Op, n, ir.MaxRecord)
	}
	return nil
}

// sizeBefore is the size that trace or tracenz, instruction i, finds on the stack
// when the instruction before it puts it there, as GDB always has it.
func (e *Expr) sizeBefore(i int) (uint64, bool) {
	if i == 0 || e.Depth[i-1] < 0 || e.targets[e.Insns[i].PC] {
		return 0, false
	}
	switch in := &e.Insns[i-1]; in.Op {
	case OpConst8, OpConst16, OpConst32, OpConst64:
		return in.Arg, true
	}
	return 0, false
}

// certain says of each instruction whether every way that reaches an end goes
// over it: no jump before it leads past it, and no end lies before it.
func (e *Expr) certain() []bool {
	list := make([]bool, len(e.Insns))
	far, ended := 0, false // the furthest target so far
	for i := range e.Insns {
		in := &e.Insns[i]
		if e.Depth[i] < 0 {
			continue
		}
		list[i] = in.PC >= far && !ended
		switch in.Op {
		case OpGoto, OpIfGoto:
			far = max(far, int(in.Arg))
		case OpEnd:
			ended = true
		}
	}
	return list
}
