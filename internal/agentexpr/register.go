package agentexpr

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/ir"
)

// Register is one register by GDB's number: its place in the target description
// of 64-bit x86 Linux (org.gnu.gdb.i386.core, .sse, .linux, .segments and, where the
// processor has it, .avx, in this order), which the bytecode, the masks of actions and
// the g packet all use.
type Register struct {
	Name string
	Size int // bytes, of the g packet
	// How it is read at a site:
	kind  regKind
	ir    int64 // DWARF number (regWord), number of ir.PutReg (regVector), offset in struct pt_regs (regContext)
	value int64 // regContext: what it is in a process
}

type regKind uint8

const (
	regWord    regKind = iota // ir.Reg
	regVector                 // ir.PutReg; no value of an expression
	regX87                    // ir.PutX87; no value of an expression
	regContext                // ir.Ctx in the kernel engine
)

// Registers has them by number. In a process, cs and ss always hold the
// selectors of Linux's 64-bit user segments.
var Registers = registers()

func registers() []Register {
	var list []Register
	word := func(name string, size int, dwarf int64) {
		list = append(list, Register{Name: name, Size: size, kind: regWord, ir: dwarf})
	}
	vector := func(name string, size int, number int64) {
		list = append(list, Register{Name: name, Size: size, kind: regVector, ir: number})
	}
	for _, dwarf := range []int64{0, 3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} {
		word(ir.RegName(dwarf), 8, dwarf)
	}
	word("rip", 8, ir.RegRIP)
	word("eflags", 4, ir.RegRFLAGS)
	list = append(list,
		Register{Name: "cs", Size: 4, kind: regContext, ir: 136, value: 0x33},
		Register{Name: "ss", Size: 4, kind: regContext, ir: 160, value: 0x2b})
	for _, dwarf := range []int64{ir.RegDS, ir.RegES, ir.RegFS, ir.RegGS} {
		word(ir.RegName(dwarf), 4, dwarf)
	}
	for n := range 8 {
		list = append(list, Register{Name: "st" + strconv.Itoa(n), Size: 10, kind: regX87})
	}
	for _, f := range x87Fields {
		list = append(list, Register{Name: f.name, Size: wordSize, kind: regX87})
	}
	for n := range int64(16) {
		vector(ir.PutRegName(n), 16, n)
	}
	vector("mxcsr", 4, ir.MXCSR)
	list = append(list, Register{Name: "orig_rax", Size: 8, kind: regContext, ir: 120, value: -1})
	word("fs_base", 8, ir.RegFSBase)
	word("gs_base", 8, ir.RegGSBase)
	for n := range int64(16) {
		vector(ir.PutRegName(ir.UpperYMM+n), 16, ir.UpperYMM+n)
	}
	return list
}

// scalar reports whether an expression can have the value of register n.
func scalar(n uint64) bool {
	return n < uint64(len(Registers)) && (Registers[n].kind == regWord || Registers[n].kind == regContext)
}

// RegisterMask is the mask of an R action as a list of register numbers: the first
// byte's lowest bit is register 0. (In the packet the bytes stand in the opposite
// order.)
func RegisterMask(mask []byte) []int {
	var list []int
	for i, b := range mask {
		for bit := range 8 {
			if b>>bit&1 != 0 {
				list = append(list, 8*i+bit)
			}
		}
	}
	return list
}
