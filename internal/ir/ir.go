// Package ir is the small program that runs at a site: the condition, then the
// record. C expressions, DWARF locations and (later) GDB's agent bytecode are
// lowered to it; eval executes it and thereby defines it; the backends compile it.
//
// Shape: basic blocks with block parameters (SSA). Control flows forward only:
// every successor has a larger index than the block itself, so every program ends.
// Values are 64-bit integers, or F64/F32 numbers.
//
// Faults are values: an operation that reads the traced program's memory names a
// fault edge, taken with the address that could not be read.
//
// Import rule: ir imports arch only.
package ir

import "github.com/jalon-trace/jalon/internal/arch/host"

// Value names the result of one instruction or one block parameter. It is an
// index into Program.Classes. None means "no value".
type Value int32

// None is the absent value.
const None Value = -1

// Class is the register class of a value.
type Class uint8

// The classes.
const (
	I64 Class = iota
	F64
	F32
)

// BlockID indexes Program.Blocks.
type BlockID int32

// NoBlock is the absent block (an operation that cannot fault).
const NoBlock BlockID = -1

// Op is an operation. Integer operations have a width W in bytes. Arithmetic and
// comparisons allow W 4 and 8 only; with W 4 they use the low 32 bits of their
// operands and zero-extend the result to 64 bits. Comparisons give 0 or 1.
type Op uint8

// The operations. A and B are Instr.A and Instr.B.
const (
	Invalid Op = iota

	// Sources.
	Const  // Imm (I64)
	FConst // the F64 or F32 whose bits are Imm (F32: zero-extended); the class is that of Dst
	Reg    // register Imm at the site, 64 bits: a DWARF number of this machine's processor (RegName); those that struct pt_regs does not have in a process only
	FReg   // low lane of vector register Imm of this machine's processor; the class is that of Dst
	Ctx    // W 1, 2, 4, 8 bytes at offset Imm of the site's context block; extended as Load's. Never faults. Kernel engine only, as the next
	Env    // word Imm of the hit's environment, one of the numbers Env*; the same all through a hit

	// Integer arithmetic, W 4 or 8.
	Add
	Sub
	Mul
	SDiv // x/0 = 0; MIN/-1 = MIN (wraps). sema tests for 0 before.
	UDiv // x/0 = 0
	SRem // x%0 = x; MIN%-1 = 0
	URem // x%0 = x
	And
	Or
	Xor
	Shl    // the count B is taken modulo 8*W
	Shr    // logical
	Sar    // arithmetic
	Neg    // A only
	Not    // A only
	BitLen // the number of bits that A (8 bytes) needs as an unsigned number: 0 for 0

	// Extensions: the low W (1, 2, 4) bytes of A to 64 bits.
	SExt
	ZExt

	// Comparisons, W 4 or 8.
	Eq
	Ne
	SLt
	SLe
	ULt
	ULe

	// Floating point; A, B and (for arithmetic) Dst have the same class. What NaNs
	// give is defined bit for bit, see float.go; so FAdd and FMul do not commute.
	FAdd
	FSub
	FMul
	FDiv
	FNeg
	FEq // ordered: false when either is NaN
	FNe // true when either is NaN
	FLt
	FLe
	// Conversions.
	FToF  // F32 <-> F64: from A's class to Dst's, which is the other one
	SToF  // signed I64 to Dst's class
	UToF  // unsigned I64 to Dst's class
	FToS  // truncate to signed I64; out of range or NaN gives 0x8000000000000000 (as cvttsd2si)
	FToU  // truncate to unsigned I64: from 2^63 on FToS(A - 2^63) xor 2^63, else (NaN too) as FToS
	FBits // the bits of A as an integer (F32: zero-extended)
	BitsF // the low bits of A as Dst's class

	// Memory of the traced program. Address = A + Imm, modulo 2^64; an access does not continue at 0 after
	// the last byte of the address space. If any byte of the access cannot be read, control continues at
	// block Fault, and Dst is not defined. The only parameter of that block is the address of the first
	// byte of the access (not that of the unreadable byte). Fault NoBlock: the address is known to be
	// readable (stack slot, static data); a fault there is a bug.
	Load  // W 1, 2, 4, 8 bytes; zero-extended, or sign-extended when Signed
	FLoad // 4 or 8 bytes by Dst's class
	StrEq // 1 when the NUL-terminated string at A+Imm equals Data (which holds no NUL), else 0; needs no byte after the first difference

	// The record. There is exactly one Reserve on every path to a Put*, Copy* or Commit, and exactly one
	// Commit on every path from there to an Exit (a reserved record that is never committed would stop the
	// reader). Offsets count from the start of the record; the first RecordHeader bytes belong to the
	// backend. In a Copy* the address is A, and Imm is the offset. The bytes of a Counted slot after its
	// length are not defined; after a fault edge the whole slot is not defined. If Aux is 0, nothing is
	// read and nothing faults.
	Reserve // room for Imm bytes (a multiple of 8) with header; when the ring is full: count CounterLost and exit. All bytes of the room read as zero
	Put     // store the low W bytes of A at record offset Imm
	FPut    // store A (4 or 8 bytes by class) at record offset Imm
	PutReg  // store the first W bytes of wide register Aux of this machine's processor (arch.Wide) at record offset Imm; W 0: all of it, and nothing is promised of the bytes of its slot that are none of its parts. In a process only
	Copy    // copy Aux bytes from address A to record offset Imm (a Fixed slot). Fault: nothing is promised of the slot
	CopyN   // copy B bytes (unsigned), at most Aux, from A to a Counted slot at Imm (u32 length, u32 flags, bytes); more than Aux sets flag 1. Fault edge as Copy
	CopyStr // copy the string of W-byte characters (1, 2, 4; Aux is a multiple of W) at A up to a zero (not stored) or Aux bytes (then flag 1, whatever follows) to a Counted slot at Imm. Fault edge when the first character is unreadable; a later one of which a byte is unreadable ends the string with flag 2
	// Walk follows the program's stack by the tables of its code (package unwind), from stack pointer A, frame
	// pointer B and the site's pc: the pcs, innermost first, to a Counted slot at Imm that holds Aux bytes of u64
	// (a multiple of 8, not 0). The flags are the reason of the end (unwind.End) times WalkEnd, and flag 1 if the
	// slot is full. Never faults. In the kernel engine only where the process has the tables.
	Walk
	CopyMax // copy as many readable bytes from A on as there are, at most Aux, to a Counted slot at Imm (flags 0); never faults
	// Kernel engine only:
	CopyFrames // copy the return addresses of stack Aux&1 (0 kernel, 1 user), innermost first, to a Counted slot at Imm that holds Aux&^7 bytes of u64; never faults. What it finds is not compared
	CopyComm   // store the 16 bytes of the thread's name, NUL-padded, at record offset Imm
	Commit     // publish the record

	Count // counter Imm (0-3) of this site += 1 (see package ring)

	// Variables of the session: words that all sites share and that outlive a hit
	// (GDB's trace state variables). Imm is the number of the variable.
	GetVar // the variable
	SetVar // the variable = A
	AddVar // the variable += A, indivisibly: no other thread's addition is lost
	// FetchAddVar is the variable, to which A is added, indivisibly: by 1, no two hits get
	// the same number.
	FetchAddVar

	// Intern follows the stack as Walk does, at most Aux/8 frames, and enters it into the session's table of stacks
	// (ring/stacks.go): its number there, which is the same for equal stacks that end for equal reasons, or 0 if the
	// table has no place. A word of the stack that cannot be a pc (ring.StackPCBits) ends the stack before it, as
	// unwind.Damaged. Never faults. In a process only.
	Intern

	// Ticks is the time of the hit, in ticks of the processor's time stamp counter: all through a hit one value.
	// In a process only.
	Ticks

	// Maps outlive a hit and are shared by programs: tables of Program.Maps, of which Aux is the number. A key is two
	// words, A and B, and those that KeyWord and KeyText have set in the same block before (Map.More). The result of MapSlot
	// and MapFind is a slot, which only the operations below take (as A, of the same map), or none: they give 0 for none, and
	// change nothing. A slot has the map's words of value, 0 at first, and a key is in the map while its slot is shown.
	// Slots are never given to another key.
	KeyWord // word Imm (from 2 on) of the next key = A
	KeyText // words from Imm (from 2 on) of the next key, as many as Aux bytes need = the string at A, up to a zero or Aux bytes, and zeros. Fault edge if one of these bytes cannot be read
	MapSlot // the slot of the key; a new one (not shown) if the key has no slot yet. If the map has no room, the result is none, and that is counted
	MapFind // the slot of the key if it is shown
	MapHas  // 1 if A is a slot, 0 if it is none
	MapSeen // 1 if slot A is shown
	MapGet  // word Imm of slot A. Not with Map.Cells, as the next
	MapSet  // word Imm of slot A = B
	MapAdd  // word Imm of slot A += B, indivisibly: no other thread's addition is lost
	MapShow // the key of slot A is in the map from now on
	MapHide // it is no longer
	// Only with Map.Cells:
	MapCount // word B of slot A += 1, indivisibly, if there is a word B
	MapMax   // word Imm of slot A = the larger of itself and B, as unsigned numbers, indivisibly

	// Kernel engine only. A site may have two programs that run one after the other on one CPU: the first
	// gives a word, the second takes it.
	Give // leave A for the site's other program
	Take // what was given on this CPU, or 0; it is given once only
	// StackID is the number of stack Aux&1 (0 kernel, 1 user), of which Aux&^7 bytes of return addresses count, in the engine's
	// tables of stacks: the same for equal stacks; 0 if they have no place, 1 if there is no stack. What it finds is not compared.
	StackID
	// UserStack is the stack of the program as a part of a key: its number in the engine's tables of stacks, with that of the process's address
	// space above it (unwind/spaces.go); the same for equal stacks of one address space that were followed in the same way, 0 if
	// they have no place, 1 if there is no stack. Aux bytes of return addresses count. A is the address of the struct pt_regs, in kernel memory, that has
	// the program's registers. What it finds is not compared.
	UserStack
	// Signal sends signal A to the process, or with Imm 1 to the thread, that executes the site, and gives the kernel's result: 0 or a negative
	// error code. Signal 0 is none.
	Signal
	Result // the program ends with A's low 32 bits as its return value, if it is the last Result on the way; without one it is the backend's usual one

	NumOps
)

// Bounds of a record, in bytes. RecordHeader is package ring's RecHeader; a test
// holds them equal.
const (
	RecordHeader = 24
	MaxRecord    = 1 << 20
	// MaxContext bounds a context block.
	MaxContext = 8192
	// Counters is how many counters a site has.
	Counters = 4
	// MaxMaps is how many maps a program can use, MaxMapWords how many words of value a map has at most.
	MaxMaps     = 16
	MaxMapWords = 29
	MaxMapSlots = 1 << 24
	// MaxCellWords is MaxMapWords with Map.Cells, MaxKeyWords how many words a key has at most.
	MaxCellWords = 4096
	MaxKeyWords  = 20
	// MaxVars is how many variables a session can have.
	MaxVars = 4096
	// CounterLost is the counter that a Reserve without room counts in.
	CounterLost = 2
	// WalkEnd is the place of unwind.End in the flags of Walk's slot.
	WalkEnd = 1 << 8
)

// Special numbers for Reg.
var (
	RegPC     = int64(host.Processor.PC)
	RegFlags  = int64(host.Processor.Flags)
	RegThread = int64(host.Processor.ThreadPointer) // the thread pointer: fs_base
)

// NumRegs is one more than the largest number for Reg of any processor.
const NumRegs = 129

// Numbers for Env.
const (
	EnvContext  = iota // address of the context block in kernel memory
	EnvCPU             // number of the CPU
	EnvTask            // address of the current struct task_struct
	EnvPidTgid         // process (tgid) << 32 | thread (pid), of the machine's first PID namespace, or of jalon's
	EnvUidGid          // gid << 32 | uid
	EnvCgroup          // id of the thread's cgroup (version 2)
	EnvTime            // CLOCK_MONOTONIC, ns
	EnvJiffies         // ticks of the kernel's timer
	EnvFollowed        // 1 if the process is followed: the traced one, or a descendant of it
	EnvSite            // number of the site
	EnvTables          // 1 if there are unwind tables of the process's present code, so that Walk can follow its stack
	NumEnv
)

// Instr is one operation.
type Instr struct {
	Op     Op
	W      uint8
	Signed bool
	Dst    Value
	A, B   Value
	Imm    int64
	Aux    int64
	Fault  BlockID
	Data   string
}

// Edge is a jump to a block with the values of its parameters.
type Edge struct {
	To   BlockID
	Args []Value
}

// TermKind is how a block ends.
type TermKind uint8

// The terminators.
const (
	Exit   TermKind = iota // the program goes on as if we were not there
	Jump                   // to Then
	Branch                 // Cond != 0: Then, else Else
)

// Term ends a block.
type Term struct {
	Kind       TermKind
	Cond       Value
	Then, Else Edge
	// Unlikely says that Then is rare (fault paths, error tests). It is not part
	// of the meaning.
	Unlikely bool
}

// Block is a basic block.
type Block struct {
	Params []Value
	Instrs []Instr
	Term   Term
	Note   string // for listings: "condition", "field: p->x", ...; one line
}

// Program is a hit program. Blocks[0] is the entry and has no parameters.
type Program struct {
	Name    string
	Blocks  []*Block
	Classes []Class // by Value
	Maps    []Map
}

// Map describes a table that outlives a hit.
type Map struct {
	Name  string // for listings, and with Shared
	Words int    // of the value of a key
	Slots int    // keys that it has room for, about: a power of two
	Limit int    // keys that it takes; 0: as many as there is room for
	More  int    // words of a key, beside the first two
	// Single: the map has one element, whatever A and B are.
	Single bool
	// Cells: words of a value are only added to, or made larger. Then each CPU has its own, and a reader puts them together.
	Cells bool
	// Deletes: programs delete keys. Then the slots of deleted keys are given back.
	Deletes bool
	// Shared: it is the map of all programs of the session that have a shared map of this name.
	Shared bool
}
