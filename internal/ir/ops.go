package ir

import "strings"

// Operand says what an operation takes as A or B.
type Operand uint8

// The operands.
const (
	NoOperand    Operand = iota // the field is None
	IntOperand                  // an I64
	FloatOperand                // an F64 or F32
	SameOperand                 // of A's class
	SlotOperand                 // a slot of the map
)

// Extent says how many low bytes of an operand an operation reads.
type Extent uint8

// The extents.
const (
	AllBytes   Extent = iota
	WidthBytes        // as many as its width
	OneByte
)

// of is the number for an operation of width w.
func (e Extent) of(w uint8) uint8 { return [...]uint8{AllBytes: 8, WidthBytes: w, OneByte: 1}[e] }

// Yields says what an operation gives in Dst.
type Yields uint8

// The results.
const (
	NoResult    Yields = iota // Dst is None
	IntResult                 // an I64
	FloatResult               // an F64 or F32: the class of Dst decides
	SameResult                // of A's class
	OtherResult               // the float class that A has not
	SlotResult                // an I64 that only operations with a SlotOperand take
)

// Widths is the set of widths that an operation allows: bit n for W == n. An
// operation without a width has W 0.
type Widths uint32

const (
	noWidth Widths = 1 << 0
	w48            = 1<<4 | 1<<8
	w124           = 1<<1 | 1<<2 | 1<<4
	w1248          = w124 | 1<<8
	wWide          = noWidth | w1248 | 1<<16 // the register decides, see arch.Wide
)

// Has reports whether the width is in the set.
func (s Widths) Has(w uint8) bool { return w < 32 && s>>w&1 != 0 }

// OpInfo is what is known of an operation without executing it.
type OpInfo struct {
	Name   string
	A, B   Operand
	AReads Extent
	BReads Extent
	Result Yields
	Widths Widths
	// Pure operations depend on their operands, numbers and the state at the
	// site only: equal ones give equal results, unused ones may be dropped.
	Pure bool
	// Reads marks the operations that read the traced program's memory. They
	// may carry a fault edge when MayFault is set.
	Reads, MayFault bool
	// Record marks the operations that need a reserved record; Slot gives
	// the bytes that one takes from record offset Imm on.
	Record bool
	// Effect: an operation with a result changes something beside it.
	Effect bool
	// Volatile: the result depends on what other hits change, so equal ones are not merged.
	Volatile bool
	// Commutes says that A and B may change places (the bits of a NaN included).
	Commutes bool
	// Negated is, for a comparison, the one that gives the opposite result for
	// all operands, and Swapped says that it takes B and A. Invalid: there is none.
	Negated Op
	Swapped bool
	// Signed: the result may be sign-extended, as Instr.Signed says.
	Signed bool
	// Compare: the result is 0 or 1, from comparing A with B.
	Compare bool
	// Low: byte n of the result depends on the bytes up to n of the operands only.
	Low bool

	// form is the order of the fields in the text form; see text.go.
	form string
}

// Ops is the table of operations.
var Ops = [NumOps]OpInfo{
	Const:  {Name: "const", Result: IntResult, Widths: noWidth, Pure: true, form: "i"},
	FConst: {Name: "fconst", Result: FloatResult, Widths: noWidth, Pure: true, form: "x"},
	Reg:    {Name: "reg", Result: IntResult, Widths: noWidth, Pure: true, form: "r"},
	FReg:   {Name: "freg", Result: FloatResult, Widths: noWidth, Pure: true, form: "m"},

	Ctx: {Name: "ctx", Result: IntResult, Widths: w1248, Pure: true, Signed: true, form: "i"},
	Env: {Name: "env", Result: IntResult, Widths: noWidth, Pure: true, form: "e"},

	Add:    lowBytes(binary("add", true)),
	Sub:    lowBytes(binary("sub", false)),
	Mul:    lowBytes(binary("mul", true)),
	SDiv:   binary("sdiv", false),
	UDiv:   binary("udiv", false),
	SRem:   binary("srem", false),
	URem:   binary("urem", false),
	And:    lowBytes(binary("and", true)),
	Or:     lowBytes(binary("or", true)),
	Xor:    lowBytes(binary("xor", true)),
	Shl:    shift("shl"),
	Shr:    shift("shr"),
	Sar:    shift("sar"),
	Neg:    lowBytes(unary("neg", w48)),
	Not:    lowBytes(unary("not", w48)),
	BitLen: unary("bitlen", 1<<8),
	SExt:   unary("sext", w124),
	ZExt:   unary("zext", w124),

	Eq:  compare("eq", true, Ne, false),
	Ne:  compare("ne", true, Eq, false),
	SLt: compare("slt", false, SLe, true),
	SLe: compare("sle", false, SLt, true),
	ULt: compare("ult", false, ULe, true),
	ULe: compare("ule", false, ULt, true),

	FAdd: {Name: "fadd", A: FloatOperand, B: SameOperand, Result: SameResult, Widths: noWidth, Pure: true, form: "ab"},
	FSub: {Name: "fsub", A: FloatOperand, B: SameOperand, Result: SameResult, Widths: noWidth, Pure: true, form: "ab"},
	FMul: {Name: "fmul", A: FloatOperand, B: SameOperand, Result: SameResult, Widths: noWidth, Pure: true, form: "ab"},
	FDiv: {Name: "fdiv", A: FloatOperand, B: SameOperand, Result: SameResult, Widths: noWidth, Pure: true, form: "ab"},
	FNeg: {Name: "fneg", A: FloatOperand, Result: SameResult, Widths: noWidth, Pure: true, form: "a"},
	FEq:  {Name: "feq", A: FloatOperand, B: SameOperand, Result: IntResult, Widths: noWidth, Pure: true, Compare: true, Commutes: true, Negated: FNe, form: "ab"},
	FNe:  {Name: "fne", A: FloatOperand, B: SameOperand, Result: IntResult, Widths: noWidth, Pure: true, Compare: true, Commutes: true, Negated: FEq, form: "ab"},
	FLt:  {Name: "flt", A: FloatOperand, B: SameOperand, Result: IntResult, Widths: noWidth, Pure: true, Compare: true, form: "ab"},
	FLe:  {Name: "fle", A: FloatOperand, B: SameOperand, Result: IntResult, Widths: noWidth, Pure: true, Compare: true, form: "ab"},

	FToF:  {Name: "ftof", A: FloatOperand, Result: OtherResult, Widths: noWidth, Pure: true, form: "a"},
	SToF:  {Name: "stof", A: IntOperand, Result: FloatResult, Widths: noWidth, Pure: true, form: "a"},
	UToF:  {Name: "utof", A: IntOperand, Result: FloatResult, Widths: noWidth, Pure: true, form: "a"},
	FToS:  {Name: "ftos", A: FloatOperand, Result: IntResult, Widths: noWidth, Pure: true, form: "a"},
	FToU:  {Name: "ftou", A: FloatOperand, Result: IntResult, Widths: noWidth, Pure: true, form: "a"},
	FBits: {Name: "fbits", A: FloatOperand, Result: IntResult, Widths: noWidth, Pure: true, form: "a"},
	BitsF: {Name: "bitsf", A: IntOperand, Result: FloatResult, Widths: noWidth, Pure: true, form: "a"},

	Load:  {Name: "load", A: IntOperand, Result: IntResult, Widths: w1248, Reads: true, MayFault: true, Signed: true, form: "p"},
	FLoad: {Name: "fload", A: IntOperand, Result: FloatResult, Widths: noWidth, Reads: true, MayFault: true, form: "p"},
	StrEq: {Name: "streq", A: IntOperand, Result: IntResult, Widths: noWidth, Reads: true, MayFault: true, form: "ps"},

	Reserve:    {Name: "reserve", Widths: noWidth, form: "i"},
	Put:        {Name: "put", A: IntOperand, AReads: WidthBytes, Widths: w1248, Record: true, form: "@a"},
	FPut:       {Name: "fput", A: FloatOperand, Widths: noWidth, Record: true, form: "@a"},
	PutReg:     {Name: "putreg", Widths: wWide, Record: true, form: "@X"},
	Copy:       {Name: "copy", A: IntOperand, Widths: noWidth, Reads: true, MayFault: true, Record: true, form: "@an"},
	CopyN:      {Name: "copyn", A: IntOperand, B: IntOperand, Widths: noWidth, Reads: true, MayFault: true, Record: true, form: "@abn"},
	CopyStr:    {Name: "copystr", A: IntOperand, Widths: w124, Reads: true, MayFault: true, Record: true, form: "@an"},
	CopyMax:    {Name: "copymax", A: IntOperand, Widths: noWidth, Reads: true, Record: true, form: "@an"},
	Walk:       {Name: "walk", A: IntOperand, B: IntOperand, Widths: noWidth, Reads: true, Record: true, form: "@abn"},
	CopyFrames: {Name: "copyframes", Widths: noWidth, Record: true, form: "@n"},
	CopyComm:   {Name: "copycomm", Widths: noWidth, Record: true, form: "@"},
	Commit:     {Name: "commit", Widths: noWidth, Record: true},

	Count: {Name: "count", Widths: noWidth, form: "i"},

	GetVar: {Name: "getvar", Result: IntResult, Volatile: true, Widths: noWidth, form: "i"},
	SetVar: {Name: "setvar", A: IntOperand, Widths: noWidth, form: "ia"},
	AddVar: {Name: "addvar", A: IntOperand, Widths: noWidth, form: "ia"},

	FetchAddVar: {Name: "fetchaddvar", A: IntOperand, Result: IntResult, Effect: true, Widths: noWidth, form: "ia"},

	Intern: {Name: "intern", A: IntOperand, B: IntOperand, Result: IntResult, Effect: true, Reads: true, Widths: noWidth, form: "abn"},

	Ticks: {Name: "ticks", Result: IntResult, Widths: noWidth, Pure: true},

	KeyWord: {Name: "keyword", A: IntOperand, Widths: noWidth, form: "ia"},
	KeyText: {Name: "keytext", A: IntOperand, Reads: true, MayFault: true, Widths: noWidth, form: "ian"},
	MapSlot: {Name: "mapslot", A: IntOperand, B: IntOperand, Result: SlotResult, Effect: true, Widths: noWidth, form: "nab"},
	MapFind: {Name: "mapfind", A: IntOperand, B: IntOperand, Result: SlotResult, Volatile: true, Widths: noWidth, form: "nab"},
	MapHas:  {Name: "maphas", A: SlotOperand, Result: IntResult, Volatile: true, Widths: noWidth, form: "na"},
	MapSeen: {Name: "mapseen", A: SlotOperand, Result: IntResult, Volatile: true, Widths: noWidth, form: "na"},
	MapGet:  {Name: "mapget", A: SlotOperand, Result: IntResult, Volatile: true, Widths: noWidth, form: "nai"},
	MapSet:  {Name: "mapset", A: SlotOperand, B: IntOperand, Widths: noWidth, form: "naib"},
	MapAdd:  {Name: "mapadd", A: SlotOperand, B: IntOperand, Widths: noWidth, form: "naib"},
	MapShow: {Name: "mapshow", A: SlotOperand, Widths: noWidth, form: "na"},
	MapHide: {Name: "maphide", A: SlotOperand, Widths: noWidth, form: "na"},

	MapCount: {Name: "mapcount", A: SlotOperand, B: IntOperand, Widths: noWidth, form: "nab"},
	MapMax:   {Name: "mapmax", A: SlotOperand, B: IntOperand, Widths: noWidth, form: "naib"},

	Give:      {Name: "give", A: IntOperand, Widths: noWidth, form: "a"},
	Take:      {Name: "take", Result: IntResult, Effect: true, Widths: noWidth},
	StackID:   {Name: "stackid", Result: IntResult, Effect: true, Widths: noWidth, form: "n"},
	UserStack: {Name: "userstack", A: IntOperand, Result: IntResult, Effect: true, Widths: noWidth, form: "an"},
	Signal:    {Name: "signal", A: IntOperand, Result: IntResult, Effect: true, Widths: noWidth, form: "ai"},
	Result:    {Name: "result", A: IntOperand, Widths: noWidth, form: "a"},
}

func binary(name string, commutes bool) OpInfo {
	return OpInfo{
		Name: name, A: IntOperand, B: IntOperand, AReads: WidthBytes, BReads: WidthBytes,
		Result: IntResult, Widths: w48, Pure: true, Commutes: commutes, form: "ab",
	}
}

func shift(name string) OpInfo {
	i := binary(name, false)
	i.BReads = OneByte
	return i
}

func unary(name string, w Widths) OpInfo {
	return OpInfo{Name: name, A: IntOperand, AReads: WidthBytes, Result: IntResult, Widths: w, Pure: true, form: "a"}
}

func lowBytes(i OpInfo) OpInfo {
	i.Low = true
	return i
}

func compare(name string, commutes bool, negated Op, swapped bool) OpInfo {
	i := binary(name, commutes)
	i.Compare, i.Negated, i.Swapped = true, negated, swapped
	return i
}

// Info returns the properties of o; of an unknown operation the zero OpInfo.
func (o Op) Info() *OpInfo {
	if o >= NumOps {
		o = Invalid
	}
	return &Ops[o]
}

// HasEffect reports whether o changes something beside its result, faults apart.
func (o Op) HasEffect() bool { return o.Info().Result == NoResult || o.Info().Effect }

// OnMap reports whether o is an operation on a map of the program; KeyWord and KeyText are not.
func (o Op) OnMap() bool { i := o.Info(); return i.Result == SlotResult || i.A == SlotOperand }

// HasSlot reports whether o writes to the record, from offset Imm on.
func (o Op) HasSlot() bool { return o.Info().has('@') }

// has reports whether the operation has a field of the text form.
func (info *OpInfo) has(fields ...byte) bool {
	for _, f := range fields {
		if strings.IndexByte(info.form, f) >= 0 {
			return true
		}
	}
	return false
}

// String returns the name of o in the text form.
func (o Op) String() string {
	if n := o.Info().Name; n != "" {
		return n
	}
	return "invalid"
}

// String returns the name of c in the text form.
func (c Class) String() string {
	switch c {
	case I64:
		return "i64"
	case F64:
		return "f64"
	case F32:
		return "f32"
	}
	return "invalid"
}

// Bytes is the size of a value of class c.
func (c Class) Bytes() int64 {
	if c == F32 {
		return 4
	}
	return 8
}

// IsCompare reports whether o gives 0 or 1 by comparing A with B.
func (o Op) IsCompare() bool { return o.Info().Compare }

// CountedHeader is the u32 length and u32 flags before the bytes of a Counted slot.
const CountedHeader = 8

// CommSize is the size of a thread's name with its NUL (TASK_COMM_LEN).
const CommSize = 16

// Flags of a Counted slot.
const (
	FlagTruncated  = 1 // there was more than the slot holds
	FlagUnreadable = 2 // the string ran into memory that cannot be read
)

// Slot returns how many bytes of the record i writes from offset i.Imm on.
// Operations that write none give 0.
func (p *Program) Slot(i *Instr) int64 {
	switch i.Op {
	case Put:
		return int64(i.W)
	case PutReg:
		return wideSlot(i)
	case FPut:
		return p.Classes[i.A].Bytes()
	case Copy:
		return i.Aux
	case CopyN, CopyStr, CopyMax, Walk:
		return CountedHeader + i.Aux
	case CopyFrames:
		return CountedHeader + i.Aux&^7
	case CopyComm:
		return CommSize
	}
	return 0
}

var envNames = [NumEnv]string{
	EnvContext: "context", EnvCPU: "cpu", EnvTask: "task", EnvPidTgid: "pid_tgid",
	EnvUidGid: "uid_gid", EnvCgroup: "cgroup", EnvTime: "time", EnvJiffies: "jiffies", EnvFollowed: "followed",
	EnvSite: "site", EnvTables: "tables",
}
