package patch

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
)

// Class says how an instruction passes on control.
type Class uint8

// The classes.
const (
	Normal  Class = iota // continues at the next instruction
	Nop                  // Normal, and does nothing at all: padding
	Jmp                  // jmp rel8, rel32
	Jcc                  // jcc rel8, rel32
	Loop                 // loop, loope, loopne, jrcxz, jecxz
	Call                 // call rel32
	JmpInd               // jmp r/m
	CallInd              // call r/m
	Ret                  // ret, ret imm16
	Syscall              // syscall, int n: the kernel sees and may change everything
	Int3                 // int3
	Trap                 // ud0, ud1, ud2, hlt, int1
	XBegin               // xbegin: a branch taken by the hardware
	Far                  // far transfers, iret, sysret, sysenter, ...
)

var classNames = [...]string{"normal", "nop", "jmp", "jcc", "loop", "call", "indirect jmp", "indirect call", "ret", "syscall", "int3", "trap", "xbegin", "far"}

func (c Class) String() string { return classNames[c] }

// Ends reports whether execution never goes on at the next instruction without
// coming from somewhere else.
func (c Class) Ends() bool { return c == Jmp || c == JmpInd || c == Ret || c == Trap || c == Far }

// Leaves reports whether execution never comes to what follows the copy of such an
// instruction: what follows an end is padding, a call returns to the program. A
// handler of a trap's signal may skip the trap.
func (c Class) Leaves() bool { return c.Ends() && c != Trap || c == Call || c == CallInd }

// RegSet is a set of general registers.
type RegSet = amd64.RegSet

// The registers that instructions name implicitly, and others, as sets.
const (
	RAX RegSet = 1 << amd64.RAX
	RCX RegSet = 1 << amd64.RCX
	RDX RegSet = 1 << amd64.RDX
	RBX RegSet = 1 << amd64.RBX
	RSP RegSet = 1 << amd64.RSP
	RBP RegSet = 1 << amd64.RBP
	RSI RegSet = 1 << amd64.RSI
	RDI RegSet = 1 << amd64.RDI
	R8  RegSet = 1 << amd64.R8
	R9  RegSet = 1 << amd64.R9
	R10 RegSet = 1 << amd64.R10
	R11 RegSet = 1 << amd64.R11
	R12 RegSet = 1 << amd64.R12
	R13 RegSet = 1 << amd64.R13
	R14 RegSet = 1 << amd64.R14
	R15 RegSet = 1 << amd64.R15

	AllGPR = amd64.AllGPR
)

// Inst is one decoded instruction.
//
// Reads and Writes obey one rule: a register that is in Writes and not in Reads
// has after the instruction a value that does not depend on the value before, on
// every path through the instruction. Whatever leaves a part of the old value (8
// and 16 bit writes, conditional writes, a repeat count of zero) is a read and a
// write. The registers of an address are reads. An instruction that hands control to
// code we do not see (call, ret, indirect jump, system call, trap) reads
// everything and writes nothing.
type Inst struct {
	Addr uint64
	Len  int
	// Target of Jmp, Jcc, Loop, Call and XBegin.
	Target uint64
	// RIPOff is the offset of the 32-bit displacement of a rip-relative operand in the instruction, 0 if
	// there is none; RIPTarget is the address that it refers to.
	RIPOff    int
	RIPTarget uint64
	Class     Class
	Reads     RegSet
	Writes    RegSet
	// FlagsRead: the outcome depends on one of CF PF AF ZF SF OF.
	// FlagsWritten: all six are overwritten (AF, and OF after a shift by more
	// than one, may be undefined by the manual).
	FlagsRead, FlagsWritten bool
	// Mem: may access memory, and so may fault.
	Mem bool
	// Unknown: the effects on registers were not worked out; Reads is AllGPR.
	Unknown bool

	space  opSpace
	opcode byte
	pfx    prefixes
	opOff  uint8 // offset of the opcode byte
	modOff uint8 // offset of the ModRM byte, 0 = none
	addr32 bool  // a rip-relative operand with the 0x67 prefix
	b      [maxLen]byte
}

// maxLen is the architecture's limit on the length of an instruction.
const maxLen = 15

// Bytes returns the encoding.
func (in *Inst) Bytes() []byte { return in.b[:in.Len] }

// Next is the address after the instruction.
func (in *Inst) Next() uint64 { return in.Addr + uint64(in.Len) }

func (in *Inst) String() string { return fmt.Sprintf("%#x: % x (%s)", in.Addr, in.Bytes(), in.Class) }

// DecodeError says that bytes are not an instruction this package is sure of.
type DecodeError struct {
	Addr  uint64
	Bytes []byte
	Why   string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("cannot decode the instruction at %#x (% x): %s", e.Addr, e.Bytes, e.Why)
}
