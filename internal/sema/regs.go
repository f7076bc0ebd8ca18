package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Registers read as GDB's: each name is a variable located in a register.

type register struct {
	t     *ctype.Type
	dwarf int   // DWARF number, or one of ir.Reg*
	shift int64 // bits: 8 for ah, bh, ch, dh
}

var (
	int64T    = &ctype.Type{Kind: ctype.Int, Name: "int64_t", Size: 8, Signed: true}
	int32T    = &ctype.Type{Kind: ctype.Int, Name: "int32_t", Size: 4, Signed: true}
	int16T    = &ctype.Type{Kind: ctype.Int, Name: "int16_t", Size: 2, Signed: true}
	int8T     = &ctype.Type{Kind: ctype.Int, Name: "int8_t", Size: 1, Signed: true}
	dataPtrT  = voidPtrT
	eflagsT   = &ctype.Type{Kind: ctype.Int, Name: "i386_eflags", Size: 4, Signed: true}
	vec128T   = makeVec128()
	registers = makeRegisters()
)

const dwarfXMM0 = 17

// gprNames are the 64, 32, 16 and 8 bit names by DWARF number (psABI figure 3.36).
var gprNames = [16][4]string{
	{"rax", "eax", "ax", "al"},
	{"rdx", "edx", "dx", "dl"},
	{"rcx", "ecx", "cx", "cl"},
	{"rbx", "ebx", "bx", "bl"},
	{"rsi", "esi", "si", "sil"},
	{"rdi", "edi", "di", "dil"},
	{"rbp", "ebp", "bp", "bpl"},
	{"rsp", "esp", "", "spl"},
	{"r8", "r8d", "r8w", "r8l"},
	{"r9", "r9d", "r9w", "r9l"},
	{"r10", "r10d", "r10w", "r10l"},
	{"r11", "r11d", "r11w", "r11l"},
	{"r12", "r12d", "r12w", "r12l"},
	{"r13", "r13d", "r13w", "r13l"},
	{"r14", "r14d", "r14w", "r14l"},
	{"r15", "r15d", "r15w", "r15l"},
}

const (
	dwarfRBP = 6
	dwarfRSP = 7
)

func makeRegisters() map[string]register {
	m := map[string]register{
		"ah": {int8T, 0, 8}, "dh": {int8T, 1, 8}, "ch": {int8T, 2, 8}, "bh": {int8T, 3, 8},
		"rip": {codePtrT, ir.RegRIP, 0}, "pc": {codePtrT, ir.RegRIP, 0},
		"sp": {dataPtrT, dwarfRSP, 0}, "fp": {dataPtrT, dwarfRBP, 0},
		"eflags": {eflagsT, ir.RegRFLAGS, 0}, "rflags": {eflagsT, ir.RegRFLAGS, 0},
		"fs_base": {ctype.LongT, ir.RegFSBase, 0}, "gs_base": {ctype.LongT, ir.RegGSBase, 0},
	}
	types := [4]*ctype.Type{int64T, int32T, int16T, int8T}
	for n, names := range gprNames {
		for i, name := range names {
			if name == "" { // $sp is the stack pointer
				continue
			}
			m[name] = register{types[i], n, 0}
		}
	}
	m["rsp"], m["rbp"] = register{dataPtrT, dwarfRSP, 0}, register{dataPtrT, dwarfRBP, 0}
	for n := range 16 {
		m[fmt.Sprintf("xmm%d", n)] = register{vec128T, dwarfXMM0 + n, 0}
	}
	return m
}

// makeVec128 is GDB's union vec128 without its half-precision members.
func makeVec128() *ctype.Type {
	u := &ctype.Type{Kind: ctype.Union, Name: "vec128", Size: 16}
	vec := func(elem *ctype.Type, n int64) *ctype.Type {
		t := ctype.ArrayOf(elem, n)
		t.Vector = true
		return t
	}
	u.SetFields([]ctype.Field{
		{Name: "v4_float", Type: vec(ctype.FloatT, 4)},
		{Name: "v2_double", Type: vec(ctype.DoubleT, 2)},
		{Name: "v16_int8", Type: vec(int8T, 16)},
		{Name: "v8_int16", Type: vec(int16T, 8)},
		{Name: "v4_int32", Type: vec(int32T, 4)},
		{Name: "v2_int64", Type: vec(int64T, 2)},
		{Name: "uint128", Type: &ctype.Type{Kind: ctype.Int, Name: "uint128_t", Size: 16}},
	})
	return u
}

// regRef is a variable located in a register.
func regRef(name string, t *ctype.Type, dwarf int, shift int64, span lang.Span) expr {
	p := debuginfo.Piece{Kind: debuginfo.InRegister, Reg: dwarf, BitOffset: shift, BitSize: t.Size * 8}
	return &varRef{typed{t, span}, "$" + name, debuginfo.Location{Pieces: []debuginfo.Piece{p}}, nil}
}

// notHere are register names that GDB knows and a site cannot give.
var notHere = map[string]string{
	"st": "x87 registers are not taken", "ymm": "only the low halves, $xmm0 to $xmm15, are taken",
	"zmm": "only the low quarters, $xmm0 to $xmm15, are taken", "k": "mask registers are not taken",
	"cs": "segment registers are not taken", "ds": "segment registers are not taken", "es": "segment registers are not taken",
	"fs": "write $fs_base", "gs": "write $gs_base", "ss": "segment registers are not taken",
	"mxcsr": "it is not taken", "bnd": "bound registers are not taken", "orig_rax": "a site is not in a system call",
}

// listWords are words of collect lists that are no expressions.
var listWords = map[string]bool{
	"regs": true, "args": true, "locals": true, "bt": true,
	"tid": true, "comm": true, "cpu": true, "time": true, "pid": true,
}

// reg is $name inside an expression.
func (c *checker) reg(x *lang.Reg) expr {
	if r, ok := registers[x.Name]; ok {
		c.needRegisters(x)
		return regRef(x.Name, r.t, r.dwarf, r.shift, x.Span())
	}
	if n, ok := argNumber(x.Name); ok {
		return c.argument(n, x.Span())
	}
	if e := c.kernelWord(x); e != nil {
		return e
	}
	switch {
	case x.Name == "ret":
		return c.returnAddress(x.Span())
	case x.Name == "pid":
		return c.pid(x.Span())
	case listWords[x.Name] && c.inCond:
		c.fail(x.Span(), fmt.Sprintf("$%s cannot be used in a condition", x.Name), "it can be collected")
	case listWords[x.Name]:
		c.fail(x.Span(), fmt.Sprintf("$%s is an item of its own, not a part of an expression", x.Name),
			fmt.Sprintf("collect it beside the expression: ..., $%s", x.Name))
	case x.Name == "retval":
		c.failName("retval", x.Span(), nil)
	}
	if why, ok := notHere[trimDigits(x.Name)]; ok {
		c.fail(x.Span(), fmt.Sprintf("register $%s is not available", x.Name), why)
	}
	names := registerNames()
	if c.in.Kernel != nil {
		names = append(names, kernelNames()...)
	}
	hint := didYouMean(dollar(lang.Nearest(x.Name, names, 3)))
	if hint == "" {
		hint = "convenience variables of GDB are not known at the site"
	}
	c.fail(x.Span(), fmt.Sprintf("no register or word \"$%s\"", x.Name), hint)
	return nil
}

func trimDigits(s string) string {
	for len(s) > 1 && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
		s = s[:len(s)-1]
	}
	return s
}

func registerNames() []string {
	names := make([]string, 0, len(registers)+len(listWords)+1)
	for _, row := range gprNames {
		names = append(names, row[:]...)
	}
	for n := range 16 {
		names = append(names, fmt.Sprintf("xmm%d", n))
	}
	return append(names, "rip", "pc", "sp", "fp", "eflags", "fs_base", "gs_base",
		"regs", "args", "locals", "bt", "ret", "tid", "pid", "comm", "cpu", "time")
}

func dollar(names []string) []string {
	for i := range names {
		names[i] = "$" + names[i]
	}
	return names
}

// returnAddress is $ret: the word below the canonical frame address (psABI 3.2.2).
func (c *checker) returnAddress(span lang.Span) expr {
	cfa := c.in.Scope.CFA()
	if k := c.in.Kernel; cfa == nil && k != nil && k.Context == ContextRegs && c.in.AtEntry {
		cfa = []debuginfo.Op{{Code: debuginfo.OpReg, Arg: dwarfRSP}, {Code: debuginfo.OpAddConst, Arg: 8}}
	}
	if cfa == nil {
		c.fail(span, "the return address is not known here: there is no call frame information for this address", "")
	}
	ops := append(append([]debuginfo.Op(nil), cfa...), debuginfo.Op{Code: debuginfo.OpAddConst, Arg: -8})
	p := debuginfo.Piece{Kind: debuginfo.InMemory, BitSize: 64, Expr: ops}
	return &varRef{typed{codePtrT, span}, "$ret", debuginfo.Location{Pieces: []debuginfo.Piece{p}}, nil}
}

func (c *checker) pid(span lang.Span) expr {
	if c.in.Pid == 0 {
		c.fail(span, "the process is not known when the expression is compiled", "collect $pid as an item of its own")
	}
	return &intConst{typed: typed{ctype.IntT, span}, v: int64(c.in.Pid)}
}
