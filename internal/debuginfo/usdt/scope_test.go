package usdt

import (
	"errors"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// table is a symbol table of a test.
type table struct {
	list        []elf.Symbol
	memsz, algn uint64
}

func (s table) Lookup(name string) (out []elf.Symbol) {
	for _, x := range s.list {
		if x.Name == name {
			out = append(out, x)
		}
	}
	return out
}

func (s table) TLS() (elf.TLS, bool) {
	return elf.TLS{Memsz: s.memsz, Align: s.algn}, s.memsz > 0
}

// fake is a scope with one static variable and a few locals.
type fake struct {
	debuginfo.Scope
	vars []*debuginfo.Variable
}

func (f fake) Lookup(name string) (*debuginfo.Variable, error) {
	for _, v := range f.vars {
		if v.Name == name {
			return v, nil
		}
	}
	return nil, &debuginfo.NotFoundError{What: "variable", Name: name}
}
func (f fake) Args() []*debuginfo.Variable   { return f.vars[:1] }
func (f fake) Locals() []*debuginfo.Variable { return f.vars[1:] }
func (f fake) FuncName() string              { return "around" }
func (f fake) HasDebugInfo() bool            { return true }

func at(vaddr int64) debuginfo.Location {
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: ops(addrOp(vaddr))}}}
}

var symbols = table{memsz: 20, algn: 16, list: []elf.Symbol{
	{Name: "one", Value: 0x1000},
	{Name: "twice", Value: 0x2000, Local: true},
	{Name: "twice", Value: 0x3000, Local: true},
	{Name: "n.12", Value: 0x2100, Local: true},
	{Name: "n.12", Value: 0x2200, Local: true},
	{Name: "both", Value: 0x4000, Local: true},
	{Name: "both", Value: 0x5000},
	{Name: "mine", Value: 4, TLS: true},
}}

// TestPlaces looks at the locations of operands, as operations.
func TestPlaces(t *testing.T) {
	const (
		r, ac, add, mul, conv, tls = debuginfo.OpReg, debuginfo.OpAddConst, debuginfo.OpAdd, debuginfo.OpMul, debuginfo.OpConvert, debuginfo.OpTLS
	)
	mem, val := debuginfo.InMemory, debuginfo.IsValue
	under := fake{vars: []*debuginfo.Variable{{Name: "n", Loc: at(0x2200)}, {Name: "x"}}}
	for _, w := range []struct {
		text string
		kind debuginfo.PieceKind
		expr []debuginfo.Op
	}{
		{"8@one(%rip)", mem, ops(addrOp(0x1000))},
		{"8@one+16(%rip)", mem, ops(addrOp(0x1010))},
		{"8@16+one(%rip)", mem, ops(addrOp(0x1010))},
		{"8@one-4+2(%rip)", mem, ops(addrOp(0xffe))},
		{"8@\"one\"(%rip)", mem, ops(addrOp(0x1000))},
		{"8@8(%rip)", mem, ops(addrOp(0x708))},
		{"8@$one+4", val, ops(addrOp(0x1004))},
		{"8@one@GOTPCREL(%rip)", val, ops(addrOp(0x1000))},
		{"8@both(%rip)", mem, ops(addrOp(0x5000))},
		{"8@n.12(%rip)", mem, ops(addrOp(0x2200))},
		{"8@one(,%rax,8)", mem, ops(addrOp(0x1000), debuginfo.Op{Code: r, Arg: 0}, konst(8), debuginfo.Op{Code: mul}, debuginfo.Op{Code: add})},
		{"-4@-20(%rbp)", mem, ops(debuginfo.Op{Code: r, Arg: 6}, debuginfo.Op{Code: ac, Arg: -20})},
		{"4@(%eax)", mem, ops(debuginfo.Op{Code: r, Arg: 0}, debuginfo.Op{Code: conv, Arg: 4})},
		{"1@0x40", mem, ops(konst(64))},
		{"8@%ds:(%rdx)", mem, ops(debuginfo.Op{Code: r, Arg: 1})},
		{"4@%fs:mine@tpoff", mem, ops(konst(4), debuginfo.Op{Code: tls})},
		{"4@%fs:mine@tpoff+2", mem, ops(konst(6), debuginfo.Op{Code: tls})},
		{"4@%fs:-8", mem, ops(konst(24), debuginfo.Op{Code: tls})},
		{"4@mine@dtpoff(%rax)", mem, ops(konst(4), debuginfo.Op{Code: r, Arg: 0}, debuginfo.Op{Code: add})},
		{"8@%rip", val, ops(addrOp(0x700))},
		{"-4@$-5", val, ops(konst(-5))},
		{"8@$~0x0f", val, ops(konst(-16))},
		{"8@$0xffffffffffffffff", val, ops(konst(-1))},
	} {
		p := Probe{PC: 0x700, Args: ParseArgs(w.text)}
		got := NewScope(&p, symbols, true, under).Args()[0].Loc
		if len(got.Pieces) != 1 || got.Pieces[0].Kind != w.kind || !equalOps(got.Pieces[0].Expr, w.expr) {
			t.Errorf("%s: %+v, want kind %d, %+v", w.text, got, w.kind, w.expr)
		}
	}
}

func equalOps(a, b []debuginfo.Op) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestRegisters: the size before the "@" counts.
func TestRegisters(t *testing.T) {
	for _, w := range []struct {
		text      string
		reg       int
		off, bits int64
		typ       string
	}{
		{"8@%rax", 0, 0, 0, "uint64_t"},
		{"-4@%edi", 5, 0, 0, "int32_t"},
		{"2@%r9w", 9, 0, 0, "uint16_t"},
		{"-1@%sil", 4, 0, 0, "int8_t"},
		{"1@%bh", 3, 8, 8, "uint8_t"},
		{"8@%eax", 0, 0, 0, "uint64_t"},
		{"-2@%rcx", 2, 0, 0, "int16_t"},
		{"8f@%xmm3", 20, 0, 0, "double"},
		{"-4f@%ymm15", 32, 0, 0, "float"},
		{"%R15", 15, 0, 0, "uint64_t"},
		{"8f@%rdx", 1, 0, 0, "double"},
	} {
		a := ParseArgs(w.text)[0]
		loc := (&placer{}).location(&a)
		if len(loc.Pieces) != 1 {
			t.Errorf("%s: %+v", w.text, loc)
			continue
		}
		p := loc.Pieces[0]
		if p.Kind != debuginfo.InRegister || p.Reg != w.reg || p.BitOffset != w.off || p.BitSize != w.bits || a.Type.Name != w.typ {
			t.Errorf("%s: %+v of type %s", w.text, p, a.Type.Name)
		}
	}
}

// TestUnavailable lists operands without a value; the others keep their numbers.
func TestUnavailable(t *testing.T) {
	for text, why := range map[string]string{
		"8@%foo": "unknown register", "8@(%rax": "unclosed", "8@(%al)": "cannot be part", "8@(%rax,%rsp)": "cannot be part",
		"8@(%rax,%rbx,3)": "scale is 3", "8@(%rip,%rax)": "no index", "8@(,,2)": "no register", "0@%rax": "size is zero",
		"16@%rax": "do not fit", "32@%xmm1": "do not fit", "8@": "unexpected end", "8@$": "unexpected end", "8@$a-b": "symbols", "8@a*2(%rip)": "product",
		"8@5(%rax)junk": `unexpected "junk"`, "8@$09": "not a number", "8@-one(%rip)": "sign", "8@%ax:5": "not a segment",
		"8@missing(%rip)": "no such symbol", "8@twice(%rip)": "2 symbols", "8@mine(%rip)": "linker", "4@%fs:one@tpoff": "not thread-local",
		"8@%gs:8": "segment %gs", "8@%fs:40": "not in this module", "8@one@PLT(%rip)": "linker", "8@one@gotpcrel+8(%rip)": "offset",
		"8@" + strings.Repeat("(", 100) + "1": "too deep",
	} {
		p := Probe{Args: ParseArgs("4@%ecx " + text)}
		args := NewScope(&p, symbols, true, nil).Args()
		if len(args) != 2 || !strings.Contains(args[1].Loc.Unavailable, why) || args[1].Loc.Pieces != nil || args[1].Type == nil {
			t.Errorf("%s: %d arguments, %+v, want %q", text, len(args), args[len(args)-1].Loc, why)
		}
	}
}

func TestScope(t *testing.T) {
	p := Probe{Provider: "demo", Name: "x", PC: 0x700, Args: ParseArgs("4@%ecx  -8@(%rsi, %rdi, 2)")}
	under := fake{vars: []*debuginfo.Variable{{Name: "n"}, {Name: "arg0"}, {Name: "x"}}}
	sc := NewScope(&p, symbols, true, under)
	if v, err := sc.Lookup("arg0"); err != nil || v.Loc.Pieces == nil {
		t.Error("arg0 is not the probe's", v, err)
	}
	if v, err := sc.Lookup("x"); err != nil || v != under.vars[2] {
		t.Error("x is not the local", v, err)
	}
	_, err := sc.Lookup("arg2")
	var nf *debuginfo.NotFoundError
	if !errors.As(err, &nf) || nf.Hint != "the probe demo:x has the arguments arg0 to arg1" {
		t.Error(err)
	}
	if len(sc.Args()) != 2 || len(sc.Locals()) != 3 || sc.FuncName() != "around" || !sc.HasDebugInfo() || sc.PC() != 0x700 {
		t.Error(sc.Args(), sc.Locals())
	}
	bare := NewScope(&p, nil, true, nil)
	if ty, err := bare.Type(ctype.Typedef, "unsigned int"); err != nil || ty.Size != 4 {
		t.Error(ty, err)
	}
	if _, err := bare.Type(ctype.Struct, "unsigned int"); err == nil {
		t.Error("a struct without debug information")
	}
	if _, err := bare.Lookup("y"); !errors.As(err, &nf) || len(nf.Nearest) != 2 {
		t.Error(err)
	}
}
