// Package arch describes processors: their registers, the orders in which DWARF, GDB,
// ptrace and the kernel number them, and the calling conventions. Each processor is one
// package below that fills in a Processor; package host has that of the machine.
//
// Import rule: arch imports nothing of jalon; the processors import arch only.
package arch

// Reg is a register of a processor by its DWARF number. Debug information, locations
// and the IR use it.
type Reg int16

// NoReg is the absent register.
const NoReg Reg = -1

// Nowhere is the offset of a register in a block that does not hold it.
const Nowhere = -1

// Register is a register of the target description that GDB is given.
type Register struct {
	Name  string // as GDB spells it
	DWARF Reg    // NoReg: it has no number
	GDB   int    // number in the target description
	Bytes int    // in GDB's packets
	// Offsets, or Nowhere.
	PtRegs     int // in the kernel's struct pt_regs
	Ptrace     int // in what PTRACE_GETREGSET gives for NT_PRSTATUS
	Sigcontext int // in struct sigcontext of a signal frame
}

// Wide is a register, or a part of the processor's state, that is no word: the IR stores it
// into records (ir.PutReg) and does not compute with it. Its number is its index in
// Processor.Wide.
type Wide struct {
	Name  string
	Bytes int
	// Widths are the numbers of bytes that can be stored, bit n for n bytes. Bit 0: it is
	// stored as a whole.
	Widths uint32
	// Slot is how many bytes of the record a store of the whole may change, if they are
	// more than Bytes.
	Slot int
	// Parts are the bytes that have a meaning, as offset and length; nil: all.
	Parts [][2]int
}

// Part is a name for some bits of a register.
type Part struct {
	Name  string
	Reg   Reg
	Bits  int
	Shift int // of the lowest bit
	// Spelled says where the name is used.
	Spelled Spelling
}

// Spelling is a set of places where names are used.
type Spelling uint8

// The places.
const (
	ByGDB       Spelling = 1 << iota // GDB's convenience registers
	ByAssembler                      // operands of static markers
)

// Task says where a thread's struct task_struct has what depends on the processor: ways from its start, as members' names with dots.
type Task struct {
	ThreadPointer string // to the thread pointer that the kernel keeps
	// Compat leads to a word of 4 bytes of which the kernel sets CompatBits while the thread is in a system call of a 32-bit program,
	// which has other numbers; "": not known.
	Compat     string
	CompatBits uint32
}

// Processor describes one processor.
type Processor struct {
	Name    string // as GOARCH spells it
	Title   string // as people do
	Machine uint16 // e_machine of ELF files

	// Registers are in GDB's order.
	Registers []Register
	// Computed are words that programs in a process can read and that are no registers.
	Computed []Register
	// Wide begins with the vector registers, in the order of their numbers.
	Wide []Wide
	// Parts are the names of whole and partial general registers.
	Parts []Part
	// Vector0 is the DWARF number of the first vector register; Vectors how many follow
	// one another.
	Vector0 Reg
	Vectors int

	PC, SP, FP Reg
	// Flags has the result of comparisons; FlagNames are GDB's by bit, "" for a bit without
	// a name. ThreadPointer is the base of thread-local
	// storage.
	Flags, ThreadPointer Reg
	FlagNames            []string
	// Link has the return address at the first instruction of a function; NoReg: the
	// stack pointer points at it, and it takes ReturnSlot bytes.
	Link       Reg
	ReturnSlot int64
	// RedZone is how many bytes below the stack pointer belong to the program.
	RedZone int64
	// FrameColumns: columns of call frame tables and frame bases have numbers below.
	FrameColumns Reg
	// Saved are the general registers that functions preserve.
	Saved []Reg

	// C calls: integer arguments and results, in order.
	Args, Results []Reg
	// LargeResult has the address of a result in memory after a call's return; NoReg: no
	// register is promised to have it. HiddenArg says that the caller passes that address
	// as the first of Args.
	LargeResult Reg
	HiddenArg   bool
	// CopiedArgs: an aggregate that is too large for registers, or has no room in them, is
	// passed in memory: on the stack (false), or as a pointer to a copy (true).
	CopiedArgs bool
	// AlignArgs: an argument aligned to 16 bytes begins at an even register.
	AlignArgs bool

	// CallArgs are the arguments of system calls.
	CallArgs []Reg

	// Dump is the order of the words of $regs.
	Dump []Reg
	// Task is what is known of the kernel's struct task_struct.
	Task Task
	// TLSAbove: thread-local blocks are above the thread pointer, behind a header of
	// TLSHeader bytes (Drepper's variant I), else below it (variant II).
	TLSAbove  bool
	TLSHeader uint64
	// GuardedLoads: where a program of the kernel loads from a user address by an
	// instruction, the kernel gives it 0, whatever the address is. Elsewhere such
	// programs read by helpers only.
	GuardedLoads bool
	// Multiarch is the name of the directory of libraries in /lib and /usr/lib (Debian).
	Multiarch string
	// KernelText is where the kernel's files have their first byte, unless they were
	// configured otherwise; 0: it is not the same for all versions.
	KernelText uint64
	// CanDecode: package patch decodes this processor's instructions.
	CanDecode bool
	// Instructions are of this many bytes; 0: of different lengths.
	InstructionBytes int
}

// addressBits is the size of a program's addresses on arm64 with pages of 4 kB, unless it asks for more.
const addressBits = 48

// CodeAddress are the bits of a program's return address that are part of the address: on arm64, which has it in a register, the others
// may authenticate it.
func (p *Processor) CodeAddress() uint64 {
	if p.Link != NoReg {
		return 1<<addressBits - 1
	}
	return ^uint64(0)
}

// Register finds the register of a DWARF number, nil when there is none.
func (p *Processor) Register(r Reg) *Register {
	for i := range p.Registers {
		if p.Registers[i].DWARF == r && r != NoReg {
			return &p.Registers[i]
		}
	}
	return nil
}

// Named finds a register by GDB's name, nil when there is none.
func (p *Processor) Named(name string) *Register {
	for i := range p.Registers {
		if p.Registers[i].Name == name {
			return &p.Registers[i]
		}
	}
	return nil
}

// PtRegs is the offset of a register in the kernel's struct pt_regs.
func (p *Processor) PtRegs(r Reg) (offset int, ok bool) {
	if x := p.Register(r); x != nil && x.PtRegs != Nowhere {
		return x.PtRegs, true
	}
	return 0, false
}

// GDB is GDB's number of a register, -1 when it has none.
func (p *Processor) GDB(r Reg) int {
	if x := p.Register(r); x != nil {
		return x.GDB
	}
	return -1
}

// Vector is the number of a vector register; ok is false for another register.
func (p *Processor) Vector(r Reg) (n int, ok bool) {
	n = int(r - p.Vector0)
	return n, n >= 0 && n < p.Vectors
}
