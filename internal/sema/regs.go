package sema

import (
	"fmt"
	"sort"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
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
	vec128T   = makeVec128()
	registers = makeRegisters()
)

// processor is this machine's.
var processor = host.Processor

// makeRegisters names the processor's registers and their parts, and GDB's own names of
// those that every processor has.
func makeRegisters() map[string]register {
	pc, sp, fp := int(processor.PC), int(processor.SP), int(processor.FP)
	m := map[string]register{
		"pc": {codePtrT, pc, 0}, "sp": {dataPtrT, sp, 0}, "fp": {dataPtrT, fp, 0},
	}
	types := map[int]*ctype.Type{64: int64T, 32: int32T, 16: int16T, 8: int8T}
	for _, p := range processor.Parts {
		if p.Spelled&arch.ByGDB != 0 {
			m[p.Name] = register{types[p.Bits], int(p.Reg), int64(p.Shift)}
		}
	}
	for i := range processor.Registers {
		switch r := &processor.Registers[i]; r.DWARF {
		case processor.PC:
			m[r.Name] = register{codePtrT, pc, 0}
		case processor.SP, processor.FP:
			m[r.Name] = register{dataPtrT, int(r.DWARF), 0}
		case processor.Flags:
			m[r.Name] = register{flagsType(r), int(r.DWARF), 0}
		default:
			if n, ok := processor.Vector(r.DWARF); ok {
				m[r.Name] = register{vec128T, int(processor.Vector0) + n, 0}
			}
		}
	}
	moreRegisters(m)
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

// reg is $name inside an expression.
func (c *checker) reg(x *lang.Reg) expr {
	if r, ok := registers[x.Name]; ok {
		c.own(x.Name, x.Span())
		c.needRegisters(x)
		return regRef(x.Name, r.t, r.dwarf, r.shift, x.Span())
	}
	if e := traceVariable(c, x); e != nil {
		return e
	}
	if n, ok := argNumber(x.Name); ok {
		return c.argument(n, x.Span())
	}
	if e := c.word(x); e != nil {
		return e
	}
	if why, ok := notHere[trimDigits(x.Name)]; ok {
		c.fail(x.Span(), fmt.Sprintf("register $%s is not available", x.Name), why)
	}
	words, _ := c.wordsHere()
	hint := c.wordFor(x.Name)
	if hint == "" && has(c.in.Scope, x.Name) {
		hint = fmt.Sprintf("a variable has no dollar: %s", x.Name)
	}
	if hint == "" {
		hint = didYouMean(dollar(lang.Nearest(x.Name, append(registerNames(), words...), 3)))
	}
	if hint == "" {
		hint = "GDB's convenience variables are not available at the site"
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

// registerNames are the names that a mistyped one is compared with.
func registerNames() []string {
	var names []string
	for name := range registers {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func dollar(names []string) []string {
	for i := range names {
		names[i] = "$" + names[i]
	}
	return names
}

// returnAddress is $ret: at a return the return value, elsewhere the word below the canonical frame address (psABI 3.2.2).
func (c *checker) returnAddress(span lang.Span) expr {
	if c.in.Exit != nil {
		return c.returned(span)
	}
	cfa := c.in.Scope.CFA()
	if k := c.in.Kernel; c.in.AtEntry && (cfa == nil && k != nil && k.Context == ContextRegs || processor.Link != arch.NoReg) {
		if processor.Link != arch.NoReg {
			return regRef("ret", codePtrT, int(processor.Link), 0, span)
		}
		cfa = []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(processor.SP)}, {Code: debuginfo.OpAddConst, Arg: processor.ReturnSlot}}
	}
	if processor.Link != arch.NoReg && c.uneval == 0 {
		c.fail(span, "the return address is known only at the first instruction of a function", "")
	}
	if cfa == nil {
		c.fail(span, "the return address is unknown: there is no call frame information for this address", "")
	}
	ops := append(append([]debuginfo.Op(nil), cfa...), debuginfo.Op{Code: debuginfo.OpAddConst, Arg: -processor.ReturnSlot})
	p := debuginfo.Piece{Kind: debuginfo.InMemory, BitSize: 64, Expr: ops}
	return &varRef{typed{codePtrT, span}, "$ret", debuginfo.Location{Pieces: []debuginfo.Piece{p}}, nil}
}

func (c *checker) pid(span lang.Span) expr {
	if c.in.Pid == 0 {
		c.fail(span, "the process is unknown when the expression is compiled", "collect $pid as an item")
	}
	return &intConst{typed: typed{ctype.IntT, span}, v: int64(c.in.Pid)}
}

func (c *checker) cpuNumber(span lang.Span) expr {
	return builtinByName["cpu"].Env.expr("$cpu", ctype.UIntT, span)
}

// some names registers in a hint.
func some(regs ...arch.Reg) string {
	text := ""
	for _, r := range regs {
		text += "$" + processor.Register(r).Name + ", "
	}
	return text + "..."
}
