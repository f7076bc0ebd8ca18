package rsp

import (
	"github.com/jalon-trace/jalon/internal/arch/arm64"
)

// arm64Sets: names and order as in GDB's features/aarch64-core.xml.
var arm64Sets = []registerSet{{"org.gnu.gdb.aarch64.core", cpsrType, arm64Core(), nil}}

func arm64Core() []Register {
	var regs []Register
	p := &arm64.Processor
	for i := range p.Registers {
		r := &p.Registers[i]
		x := Register{Name: r.Name, Bits: 8 * r.Bytes, Type: "int"}
		switch r.DWARF {
		case p.PC:
			x.Type = "code_ptr"
		case p.SP:
			x.Type = "data_ptr"
		case p.Flags:
			x.Type = "cpsr_flags"
		}
		regs = append(regs, x)
	}
	return regs
}

func cpsrType(d *document) {
	var flags []flag
	for bit, name := range arm64.Processor.FlagNames {
		if name != "" {
			flags = append(flags, flag{name, bit})
		}
	}
	flagsType(d, "cpsr_flags", flags)
}
