// Package debuginfo says what a name means at an address: which variables are in
// scope, what their types are and where their values are. The packages below it
// (dwarf, elf, later btf) produce these types from files; sema consumes them.
//
// Addresses here are link-time virtual addresses of the module ("vaddr"). The
// run-time address is vaddr plus the module's load bias.
//
// Import rule: debuginfo imports ctype only.
package debuginfo

import "github.com/jalon-trace/jalon/internal/ctype"

// VarKind is the kind of a Variable.
type VarKind uint8

// The sorts of variable.
const (
	Local  VarKind = iota
	Param          // a formal parameter
	Static         // file-static or function-static
	Global         // external linkage
	// PerCPU: one object for each CPU (in the kernel). The location is the object's offset from a CPU's base,
	// not an address.
	PerCPU
)

// Variable is a named object visible at one pc, and where its value is there.
type Variable struct {
	Name string
	Type *ctype.Type
	Kind VarKind
	Loc  Location
	File string // declaration
	Line int
	// Count is set for an array whose number of elements is computed at run time
	// (C's arrays of variable length): the number is Count's value plus CountAdd.
	Count    *Variable
	CountAdd int64
	// Of, if not "", is the other module that has the variable, where only the name led to it: no symbol is bound to it.
	Of string
}

// Location says where a value is at one pc. Exactly one of Pieces and
// Unavailable is set. Pieces are in increasing memory order, little-endian.
type Location struct {
	Pieces []Piece
	// Unavailable says in words why there is no value here: "optimised out",
	// "its location needs the caller's registers (DW_OP_entry_value)", ...
	Unavailable string
	// Elsewhere lists the vaddr ranges of the function where the variable does
	// have a location, for the diagnostic.
	Elsewhere []Range
	// Points, if not nil: the value is a pointer that the program does not have. What it points to may be known.
	Points *Pointer
	// Replaceable, if not "", is a symbol: if another file of the process exports it too, this location may be that
	// of an object or function which the code here does not use, and nothing in the file shows which one it uses.
	Replaceable string
	// Symbol, if not "", is that of a variable which the module only declares: another module may have it.
	Symbol string
}

// Object is the vaddr of an object in memory, or with tls its offset in the module's thread-local block. ok is false if the
// location is anything else, such as an address that is computed.
func (l *Location) Object() (value uint64, tls, ok bool) {
	if len(l.Pieces) != 1 || l.Pieces[0].Kind != InMemory {
		return 0, false, false
	}
	switch e := l.Pieces[0].Expr; {
	case len(e) == 1 && e[0].Code == OpAddr:
		return uint64(e[0].Arg), false, true
	case len(e) == 2 && e[0].Code == OpConst && e[1].Code == OpTLS:
		return uint64(e[0].Arg), true, true
	}
	return 0, false, false
}

// Pointer describes a pointer that is no longer there (DW_OP_implicit_pointer): it points to the byte Offset of an object.
type Pointer struct {
	To     interface{ Object() *Variable } // nil: it is not known; its Type may be nil
	Offset int64
}

// Range is a half-open interval of vaddrs.
type Range struct{ Lo, Hi uint64 }

// PieceKind says how a Piece is read.
type PieceKind uint8

// The kinds of piece.
const (
	InMemory   PieceKind = iota // Expr computes the address of the first byte
	InRegister                  // the low bits of register Reg
	IsValue                     // Expr computes the value itself (DW_OP_stack_value)
	IsBytes                     // Bytes is the value (DW_OP_implicit_value, DW_AT_const_value)
	IsMissing                   // this fragment is optimised out
	// InContext: the bytes from Ctx on in the site's context block, which is what
	// the kernel hands to a program: a tracepoint's arguments, one word each, or
	// its record. Such memory is always readable.
	InContext
)

// Piece is one fragment of a value.
type Piece struct {
	Kind      PieceKind
	BitSize   int64 // 0: the whole variable
	BitOffset int64 // within the register or value (DW_OP_bit_piece)
	Reg       int   // DWARF register number (System V psABI figure 3.36: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15, 16 return address, 17-32 xmm0-15)
	Expr      []Op
	Bytes     []byte
	Ctx       int64    // byte offset of an InContext piece
	Why       string   // IsMissing: the reason, "" if the compiler gives none
	Points    *Pointer // IsMissing: see Location
}

// OpCode is an operation of a decoded location expression, a stack machine of
// 64-bit words. Context-dependent DWARF operations (fbreg, call_frame_cfa,
// addrx, ...) are already replaced by what they mean at the pc.
type OpCode uint8

// The operations. "a b" are the stack's top two, b topmost.
const (
	OpInvalid OpCode = iota
	OpConst          // push Arg
	OpAddr           // push Arg + load bias
	OpReg            // push register Arg (DWARF number)
	OpTLS            // pop an offset in the module's TLS block, push its address for this thread
	OpDeref          // pop address, push Arg bytes (1, 2, 4, 8) read there, zero-extended
	OpDup
	OpDrop
	OpPick // push the entry at depth Arg
	OpSwap
	OpRot // a b c -> c a b
	OpAbs
	OpNeg
	OpNot
	OpAnd
	OpOr
	OpXor
	OpAdd
	OpAddConst // top + Arg
	OpSub
	OpMul
	OpDiv // signed
	OpMod // unsigned
	OpShl
	OpShr
	OpShra
	OpEq // signed comparisons, 1 or 0
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpSkip // jump to Expr index Arg (always forward)
	OpBra  // pop, jump to Expr index Arg if not zero (always forward)
	OpEnv  // push word Arg of the hit's environment (ir.EnvTask, ...); in a process only the number of the CPU
	// OpConvert: pop, convert to an integer of |Arg| bytes (Arg<0: signed), push extended to 64 bits.
	OpConvert
	OpUDiv // unsigned
	OpSMod // signed, as C's %
	OpULt  // unsigned comparisons
	OpULe
	OpUGt
	OpUGe
	// OpNone: there is no value at this hit. Nothing behind it is reached but by jumps. Arg may be OtherFrame.
	OpNone
	// OpObject: push the address of the object that the expression is about (DW_OP_push_object_address). Only
	// expressions of an Array have it.
	OpObject
	// Numbers in floating point are words too: their bits, those of a float in the low half, the high half is 0.
	OpVector // push the low 8 bytes of vector register Arg (DWARF number)
	// Arg is the size of both operands, 4 or 8.
	OpFAdd
	OpFSub
	OpFMul
	OpFDiv
	OpFEq // as OpEq: 1 or 0
	OpFNe
	OpFLt
	OpFLe
	OpFGt
	OpFGe
	OpSToF // convert a signed word to a number of Arg bytes
	OpUToF // an unsigned one
	OpFToS // convert a number of Arg bytes to a signed word, towards zero
	OpFToF // convert a number of the other size to one of Arg bytes
)

// OtherFrame is OpNone's Arg for a variable of a caller: another function has called.
const OtherFrame = 1

// EnvTask is OpEnv's number for the running thread's struct task_struct: ir.EnvTask.
const EnvTask = 2

// Op is one decoded operation.
type Op struct {
	Code OpCode
	Arg  int64
}

// Scope is what names mean at one pc of one module.
type Scope interface {
	// PC returns the vaddr that the scope describes.
	PC() uint64
	// FuncName is the function (the innermost inlined one), "" when unknown.
	FuncName() string
	// Lookup finds a variable by its bare name as C would at this place: inner
	// blocks first, then parameters, file statics, globals of the program.
	// The error is a *NotFoundError.
	Lookup(name string) (*Variable, error)
	// LookupIn finds 'file.c'::name or function::name.
	LookupIn(scope, name string) (*Variable, error)
	// Args and Locals list what is in scope here, outermost block first;
	// shadowed variables are left out of Locals.
	Args() []*Variable
	Locals() []*Variable
	// Type finds a type: kind is Struct, Union, Enum for tags, Typedef for
	// typedef and base-type names ("uint32_t", "unsigned int"). The error is a
	// *NotFoundError. Complete definitions are preferred over declarations.
	Type(kind ctype.Kind, name string) (*ctype.Type, error)
	// Enumerator finds an enumeration constant.
	Enumerator(name string) (*ctype.Type, int64, bool)
	// CFA is the canonical frame address at PC as an expression, nil when the
	// call frame information is silent.
	CFA() []Op
	// HasDebugInfo is false when only symbols are known.
	HasDebugInfo() bool
}

// NotFoundError says that a name means nothing here, and which names are near.
type NotFoundError struct {
	What    string // "variable", "type", "function", "line", "file", ...
	Name    string
	Nearest []string
	Hint    string // further help, may be ""
	// Explain fills in Nearest and Hint where that is slow: most failed lookups are
	// followed by others and never shown. It is called once, by Why. May be nil.
	Explain func(*NotFoundError)
}

// Why completes the error. Call it before Nearest and Hint are read.
func (e *NotFoundError) Why() *NotFoundError {
	if f := e.Explain; f != nil {
		e.Explain = nil
		f(e)
	}
	return e
}

func (e *NotFoundError) Error() string {
	_ = e.Why()
	s := "no " + e.What + " " + quote(e.Name)
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

func quote(s string) string { return "\"" + s + "\"" }
