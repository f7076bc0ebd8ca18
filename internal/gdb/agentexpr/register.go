package agentexpr

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
)

// Register is one register by GDB's number: its place in the target description of the
// processor (package arch), which the bytecode, the masks of actions and the g packet
// all use.
type Register struct {
	Name string
	Size int // bytes, of the g packet
	// How it is read at a site:
	kind  regKind
	ir    int64 // DWARF number (regWord), number of a wide register (regVector), offset in struct pt_regs (regContext)
	value int64 // regContext: what it is in a process
}

type regKind uint8

const (
	regWord    regKind = iota // ir.Reg
	regVector                 // ir.PutReg; no value of an expression
	regX87                    // a part of wide register x87; no value of an expression
	regContext                // ir.Ctx in the kernel engine
)

// Registers has them by number.
var Registers = registers()

func registers() []Register {
	var list []Register
	for i := range host.Processor.Registers {
		r := &host.Processor.Registers[i]
		x := Register{Name: r.Name, Size: r.Bytes, kind: regWord, ir: int64(r.DWARF)}
		switch n, vector := host.Processor.Vector(r.DWARF); {
		case vector:
			x.kind, x.ir = regVector, int64(n)
		case r.Ptrace != arch.Nowhere && r.DWARF == arch.NoReg:
			x.kind, x.ir = regContext, int64(r.PtRegs)
			x.value = constantRegisters[r.Name]
		case r.Ptrace == arch.Nowhere:
			x.kind, x.ir = otherRegister(r.Name)
		}
		list = append(list, x)
	}
	return list
}

// scalar reports whether an expression can have the value of register n.
func scalar(n uint64) bool {
	return n < uint64(len(Registers)) && (Registers[n].kind == regWord || Registers[n].kind == regContext)
}

// RegisterMask returns the mask of an R action as a list of register numbers: the first byte's lowest bit is
// register 0. (In the packet the bytes have the opposite order.)
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
