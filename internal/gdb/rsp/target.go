package rsp

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/arm64"
)

// CPU says which register sets the machine has beyond SSE.
type CPU struct{ AVX, AVX512, PKeys bool }

// Register is a register of the target description, in the order of g and G packets.
type Register struct {
	Name   string
	Bits   int
	Type   string
	Group  string // empty: GDB's own choice
	Number int    // in p and P packets, and in T replies
	Offset int    // in g and G packets, bytes
}

// registerSet is a feature of the description: a standard name of GDB's, the types
// that it defines and its registers.
type registerSet struct {
	name      string
	types     func(*document)
	registers []Register
	has       func(CPU) bool
}

// Target is a target description.
type Target struct {
	architecture string
	sets         []registerSet
	// Registers in order; Size is the length of all of them in bytes.
	Registers []Register
	Size      int
}

// TargetX86Linux describes x86-64 Linux as gdbserver does, with the sets of the
// machine.
func TargetX86Linux(cpu CPU) *Target { return newTarget("i386:x86-64", x86Sets, cpu) }

// TargetArm64Linux describes arm64 Linux: the general registers.
func TargetArm64Linux() *Target { return newTarget("aarch64", arm64Sets, CPU{}) }

// TargetOf describes a processor's general registers, and what else every one of its
// kind has.
func TargetOf(p *arch.Processor) *Target {
	if p == &arm64.Processor {
		return TargetArm64Linux()
	}
	return TargetX86Linux(CPU{})
}

func newTarget(architecture string, sets []registerSet, cpu CPU) *Target {
	t := &Target{architecture: architecture}
	for _, set := range sets {
		if set.has != nil && !set.has(cpu) {
			continue
		}
		regs := make([]Register, len(set.registers))
		for i, r := range set.registers {
			r.Number, r.Offset = len(t.Registers), t.Size
			regs[i] = r
			t.Registers = append(t.Registers, r)
			t.Size += r.Bits / 8
		}
		set.registers = regs
		t.sets = append(t.sets, set)
	}
	return t
}

// Base is the description without the sets that only some machines have: what a GDB
// assumes that takes no description. Its registers are the first of the whole.
func (t *Target) Base() *Target {
	b := &Target{architecture: t.architecture}
	for _, set := range t.sets {
		if set.has != nil {
			break
		}
		b.sets = append(b.sets, set)
		b.Registers = append(b.Registers, set.registers...)
	}
	for _, r := range b.Registers {
		b.Size += r.Bits / 8
	}
	return b
}

// XML is the object features, annex target.xml.
func (t *Target) XML() []byte {
	d := newDocument("target", "gdb-target.dtd")
	d.begin("target")
	d.text("architecture", t.architecture)
	d.text("osabi", "GNU/Linux")
	for _, set := range t.sets {
		d.begin("feature", attr("name", set.name))
		if set.types != nil {
			set.types(d)
		}
		for _, r := range set.registers {
			d.leaf("reg", attr("name", r.Name), attrInt("bitsize", r.Bits), attr("type", r.Type),
				attrInt("regnum", r.Number), some("group", r.Group))
		}
		d.end()
	}
	d.end()
	return d.Bytes()
}

// The register sets, their names and orders as in GDB's features/i386/*.xml.
var x86Sets = []registerSet{
	{"org.gnu.gdb.i386.core", eflagsType, coreRegisters(), nil},
	{"org.gnu.gdb.i386.sse", sseTypes, append(numbered("xmm%d", 0, 16, 128, "vec128"),
		Register{Name: "mxcsr", Bits: 32, Type: "i386_mxcsr", Group: "vector"}), nil},
	{"org.gnu.gdb.i386.linux", nil, []Register{{Name: "orig_rax", Bits: 64, Type: "int"}}, nil},
	{"org.gnu.gdb.i386.segments", nil, []Register{
		{Name: "fs_base", Bits: 64, Type: "int"}, {Name: "gs_base", Bits: 64, Type: "int"},
	}, nil},
	{
		"org.gnu.gdb.i386.avx", nil, numbered("ymm%dh", 0, 16, 128, "uint128"),
		func(c CPU) bool { return c.AVX },
	},
	{"org.gnu.gdb.i386.avx512", avx512Types, avx512Registers(), func(c CPU) bool { return c.AVX512 }},
	{
		"org.gnu.gdb.i386.pkeys", nil,
		[]Register{{Name: "pkru", Bits: 32, Type: "uint32"}},
		func(c CPU) bool { return c.PKeys },
	},
}

// coreRegisters are those of package arch as far as the x87's.
func coreRegisters() []Register {
	var regs []Register
	p := &amd64.Processor
	for i := range p.Registers {
		r := &p.Registers[i]
		x := Register{Name: r.Name, Bits: 8 * r.Bytes, Type: "int64"}
		switch {
		case r.DWARF == amd64.DwarfXMM0:
			return regs
		case r.DWARF == p.PC:
			x.Type = "code_ptr"
		case r.DWARF == p.SP, r.DWARF == p.FP:
			x.Type = "data_ptr"
		case r.DWARF == p.Flags:
			x.Type = "i386_eflags"
		case slices.Contains(amd64.X87Control, r.Name):
			x.Type, x.Group = "int", "float"
		case r.Bytes == 10:
			x.Type = "i387_ext"
		case r.Bytes == 4:
			x.Type = "int32"
		}
		regs = append(regs, x)
	}
	return regs
}

func numbered(format string, from, to, bits int, typ string) []Register {
	var regs []Register
	for i := from; i < to; i++ {
		regs = append(regs, Register{Name: fmt.Sprintf(format, i), Bits: bits, Type: typ})
	}
	return regs
}

func avx512Registers() []Register {
	var regs []Register
	regs = append(regs, numbered("xmm%d", 16, 32, 128, "vec128")...)
	regs = append(regs, numbered("ymm%dh", 16, 32, 128, "uint128")...)
	regs = append(regs, numbered("k%d", 0, 8, 64, "uint64")...)
	return append(regs, numbered("zmm%dh", 0, 32, 256, "v2ui128")...)
}

// flag is a bit of a flags type.
type flag struct {
	name string
	bit  int
}

func flagsType(d *document, id string, flags []flag) {
	d.begin("flags", attr("id", id), attr("size", "4"))
	for _, f := range flags {
		d.leaf("field", attr("name", f.name), attrInt("start", f.bit), attrInt("end", f.bit), attr("type", "bool"))
	}
	d.end()
}

func eflagsType(d *document) {
	flagsType(d, "i386_eflags", []flag{
		{"CF", 0},
		{"", 1},
		{"PF", 2},
		{"AF", 4},
		{"ZF", 6},
		{"SF", 7},
		{"TF", 8},
		{"IF", 9},
		{"DF", 10},
		{"OF", 11},
		{"NT", 14},
		{"RF", 16},
		{"VM", 17},
		{"AC", 18},
		{"VIF", 19},
		{"VIP", 20},
		{"ID", 21},
	})
}

func sseTypes(d *document) {
	vectorTypes(d)
	flagsType(d, "i386_mxcsr", []flag{
		{"IE", 0},
		{"DE", 1},
		{"ZE", 2},
		{"OE", 3},
		{"UE", 4},
		{"PE", 5},
		{"DAZ", 6},
		{"IM", 7},
		{"DM", 8},
		{"ZM", 9},
		{"OM", 10},
		{"UM", 11},
		{"PM", 12},
		{"FZ", 15},
	})
}

func avx512Types(d *document) {
	vectorTypes(d)
	d.leaf("vector", attr("id", "v2ui128"), attr("type", "uint128"), attr("count", "2"))
}

// vectorTypes are the views of a 128-bit vector register.
func vectorTypes(d *document) {
	views := []struct {
		id, elem, field string
		count           int
	}{
		{"v8bf16", "bfloat16", "v8_bfloat16", 8},
		{"v8h", "ieee_half", "v8_half", 8},
		{"v4f", "ieee_single", "v4_float", 4},
		{"v2d", "ieee_double", "v2_double", 2},
		{"v16i8", "int8", "v16_int8", 16},
		{"v8i16", "int16", "v8_int16", 8},
		{"v4i32", "int32", "v4_int32", 4},
		{"v2i64", "int64", "v2_int64", 2},
	}
	for _, v := range views {
		d.leaf("vector", attr("id", v.id), attr("type", v.elem), attrInt("count", v.count))
	}
	d.begin("union", attr("id", "vec128"))
	for _, v := range views {
		d.leaf("field", attr("name", v.field), attr("type", v.id))
	}
	d.leaf("field", attr("name", "uint128"), attr("type", "uint128"))
	d.end()
}
