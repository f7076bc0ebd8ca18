package agentexpr

// Op is an operation of the bytecode: its first byte.
type Op uint8

// The operations, by GDB's numbers (gdbsupport/ax.def).
const (
	OpFloat        Op = 0x01
	OpAdd          Op = 0x02
	OpSub          Op = 0x03
	OpMul          Op = 0x04
	OpDivSigned    Op = 0x05
	OpDivUnsigned  Op = 0x06
	OpRemSigned    Op = 0x07
	OpRemUnsigned  Op = 0x08
	OpLsh          Op = 0x09
	OpRshSigned    Op = 0x0a
	OpRshUnsigned  Op = 0x0b
	OpTrace        Op = 0x0c
	OpTraceQuick   Op = 0x0d
	OpLogNot       Op = 0x0e
	OpBitAnd       Op = 0x0f
	OpBitOr        Op = 0x10
	OpBitXor       Op = 0x11
	OpBitNot       Op = 0x12
	OpEqual        Op = 0x13
	OpLessSigned   Op = 0x14
	OpLessUnsigned Op = 0x15
	OpExt          Op = 0x16
	OpRef8         Op = 0x17
	OpRef16        Op = 0x18
	OpRef32        Op = 0x19
	OpRef64        Op = 0x1a
	OpRefFloat     Op = 0x1b
	OpRefDouble    Op = 0x1c
	OpRefLongDbl   Op = 0x1d
	OpLToD         Op = 0x1e
	OpDToL         Op = 0x1f
	OpIfGoto       Op = 0x20
	OpGoto         Op = 0x21
	OpConst8       Op = 0x22
	OpConst16      Op = 0x23
	OpConst32      Op = 0x24
	OpConst64      Op = 0x25
	OpReg          Op = 0x26
	OpEnd          Op = 0x27
	OpDup          Op = 0x28
	OpPop          Op = 0x29
	OpZeroExt      Op = 0x2a
	OpSwap         Op = 0x2b
	OpGetv         Op = 0x2c
	OpSetv         Op = 0x2d
	OpTracev       Op = 0x2e
	OpTracenz      Op = 0x2f
	OpTrace16      Op = 0x30
	OpPick         Op = 0x32
	OpRot          Op = 0x33
	OpPrintf       Op = 0x34
)

// opInfo is what is known of an operation: the bytes behind the first one, and
// how many values it takes from the stack and leaves there.
type opInfo struct {
	name         string
	size         int
	pops, pushes int
}

// ops is the table of operations. printf's text and operands are variable: see
// Insn.pops and Insn.Len. tracev leaves the stack alone, as gdbserver has it
// and as the code that GDB makes needs it, though ax.def says otherwise; setv
// leaves its operand.
var ops = [...]opInfo{
	OpFloat:        {"float", 0, 0, 0},
	OpAdd:          {"add", 0, 2, 1},
	OpSub:          {"sub", 0, 2, 1},
	OpMul:          {"mul", 0, 2, 1},
	OpDivSigned:    {"div_signed", 0, 2, 1},
	OpDivUnsigned:  {"div_unsigned", 0, 2, 1},
	OpRemSigned:    {"rem_signed", 0, 2, 1},
	OpRemUnsigned:  {"rem_unsigned", 0, 2, 1},
	OpLsh:          {"lsh", 0, 2, 1},
	OpRshSigned:    {"rsh_signed", 0, 2, 1},
	OpRshUnsigned:  {"rsh_unsigned", 0, 2, 1},
	OpTrace:        {"trace", 0, 2, 0},
	OpTraceQuick:   {"trace_quick", 1, 1, 1},
	OpLogNot:       {"log_not", 0, 1, 1},
	OpBitAnd:       {"bit_and", 0, 2, 1},
	OpBitOr:        {"bit_or", 0, 2, 1},
	OpBitXor:       {"bit_xor", 0, 2, 1},
	OpBitNot:       {"bit_not", 0, 1, 1},
	OpEqual:        {"equal", 0, 2, 1},
	OpLessSigned:   {"less_signed", 0, 2, 1},
	OpLessUnsigned: {"less_unsigned", 0, 2, 1},
	OpExt:          {"ext", 1, 1, 1},
	OpRef8:         {"ref8", 0, 1, 1},
	OpRef16:        {"ref16", 0, 1, 1},
	OpRef32:        {"ref32", 0, 1, 1},
	OpRef64:        {"ref64", 0, 1, 1},
	OpRefFloat:     {"ref_float", 0, 1, 1},
	OpRefDouble:    {"ref_double", 0, 1, 1},
	OpRefLongDbl:   {"ref_long_double", 0, 1, 1},
	OpLToD:         {"l_to_d", 0, 1, 1},
	OpDToL:         {"d_to_l", 0, 1, 1},
	OpIfGoto:       {"if_goto", 2, 1, 0},
	OpGoto:         {"goto", 2, 0, 0},
	OpConst8:       {"const8", 1, 0, 1},
	OpConst16:      {"const16", 2, 0, 1},
	OpConst32:      {"const32", 4, 0, 1},
	OpConst64:      {"const64", 8, 0, 1},
	OpReg:          {"reg", 2, 0, 1},
	OpEnd:          {"end", 0, 0, 0},
	OpDup:          {"dup", 0, 1, 2},
	OpPop:          {"pop", 0, 1, 0},
	OpZeroExt:      {"zero_ext", 1, 1, 1},
	OpSwap:         {"swap", 0, 2, 2},
	OpGetv:         {"getv", 2, 0, 1},
	OpSetv:         {"setv", 2, 1, 1},
	OpTracev:       {"tracev", 2, 0, 0},
	OpTracenz:      {"tracenz", 0, 2, 0},
	OpTrace16:      {"trace16", 2, 1, 1},
	OpPick:         {"pick", 1, 0, 1},
	OpRot:          {"rot", 0, 3, 3},
	OpPrintf:       {"printf", 3, 2, 0},
}

// info returns the row of o; false when there is no such operation.
func (o Op) info() (opInfo, bool) {
	if int(o) >= len(ops) || ops[o].name == "" {
		return opInfo{}, false
	}
	return ops[o], true
}

// String returns GDB's name of o.
func (o Op) String() string {
	if i, ok := o.info(); ok {
		return i.name
	}
	return "bad opcode"
}
