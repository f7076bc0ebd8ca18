package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The text form, one instruction a line:
//
//	program "main.c:9"
//	map 0 words 2 slots 1024 "name"
//	b0: ; entry
//	  v0 = reg rdi
//	  v1 = load.4s v0+16 fault b2
//	  brif v1 -> b1(v1) else b3
//	b1(v2): ; fields
//	  reserve 32
//	  put.4 @24, v2
//	  commit
//	  exit
//	b2(v3):
//	  count 1
//	  jump b3
//	b3:
//	  exit
//
// A width follows the operation after a dot (s: signed). Where a value is defined,
// ":f64" or ":f32" gives its class; without it is an i64. The text after a block's
// semicolon is its note; other comments run from a semicolon to the end of the
// line. Parse reads it back.
//
// OpInfo.form says which fields follow the operation, in which order:
//
//	a b  operand A, B          i  Imm, decimal        x  Imm as hexadecimal bits
//	p    address A+Imm         r  Imm as register     m  Imm as vector register
//	@    @Imm, record offset   n  Aux, decimal        X  Aux as register of PutReg
//	s    Data, quoted               e  Imm as word of the environment

// String returns the text form of p.
func (p *Program) String() string {
	var w strings.Builder
	if p.Name != "" {
		fmt.Fprintf(&w, "program %s\n", strconv.Quote(p.Name))
	}
	for n, m := range p.Maps {
		fmt.Fprintf(&w, "map %d words %d slots %d %s%s\n", n, m.Words, m.Slots, m.traits(), strconv.Quote(m.Name))
	}
	for id, b := range p.Blocks {
		if b == nil {
			fmt.Fprintf(&w, "b%d: ; nil\n", id)
			continue
		}
		fmt.Fprintf(&w, "b%d%s:%s\n", id, p.paramsString(b), noteString(b.Note))
		for i := range b.Instrs {
			fmt.Fprintf(&w, "  %s\n", p.InstrString(&b.Instrs[i]))
		}
		fmt.Fprintf(&w, "  %s\n", b.Term.String())
	}
	return w.String()
}

// traits are the words for the fields of a map that are mostly zero.
func (m *Map) traits() (s string) {
	if m.More > 0 {
		s = fmt.Sprintf("more %d ", m.More)
	}
	if m.Limit > 0 {
		s += fmt.Sprintf("limit %d ", m.Limit)
	}
	for n, on := range m.flags() {
		if *on {
			s += mapFlags[n] + " "
		}
	}
	return s
}

var mapFlags = [...]string{"single", "cells", "deletes", "shared"}

func (m *Map) flags() [len(mapFlags)]*bool {
	return [...]*bool{&m.Single, &m.Cells, &m.Deletes, &m.Shared}
}

// noteString writes a note so that it stays one line and is read back alike.
func noteString(note string) string {
	if note == "" {
		return ""
	}
	if plainNote(note) {
		return " ; " + note
	}
	return " ; " + strconv.Quote(note)
}

func plainNote(note string) bool {
	if note != strings.TrimSpace(note) || note[0] == '"' {
		return false
	}
	for _, r := range note {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return false
		}
	}
	return true
}

func (p *Program) paramsString(b *Block) string {
	if len(b.Params) == 0 {
		return ""
	}
	s := make([]string, len(b.Params))
	for i, v := range b.Params {
		s[i] = p.defString(v)
	}
	return "(" + strings.Join(s, ", ") + ")"
}

func valueString(v Value) string {
	if v < 0 {
		return "none"
	}
	return "v" + strconv.Itoa(int(v))
}

func (p *Program) defString(v Value) string {
	if c, ok := p.class(v); ok && c != I64 {
		return valueString(v) + ":" + c.String()
	}
	return valueString(v)
}

// class is safe for programs that were not checked.
func (p *Program) class(v Value) (Class, bool) {
	if v < 0 || int(v) >= len(p.Classes) {
		return I64, false
	}
	return p.Classes[v], true
}

// InstrString returns the text form of one instruction, without a line end.
func (p *Program) InstrString(i *Instr) string {
	var w strings.Builder
	if i.Dst != None {
		w.WriteString(p.defString(i.Dst) + " = ")
	}
	w.WriteString(i.Op.String())
	if i.W != 0 {
		w.WriteString("." + strconv.Itoa(int(i.W)))
		if i.Signed {
			w.WriteByte('s')
		}
	}
	for n, f := range i.Op.Info().form {
		if n == 0 {
			w.WriteByte(' ')
		} else {
			w.WriteString(", ")
		}
		w.WriteString(i.field(f))
	}
	if i.Fault != NoBlock {
		fmt.Fprintf(&w, " fault b%d", i.Fault)
	}
	if i.Op == FConst {
		w.WriteString(" ; " + p.floatString(i))
	}
	return w.String()
}

func (i *Instr) field(f rune) string {
	switch f {
	case 'a':
		return valueString(i.A)
	case 'b':
		return valueString(i.B)
	case 'i':
		return strconv.FormatInt(i.Imm, 10)
	case 'x':
		return fmt.Sprintf("0x%x", uint64(i.Imm))
	case 'p':
		if i.Imm == 0 {
			return valueString(i.A)
		}
		return fmt.Sprintf("%s%+d", valueString(i.A), i.Imm)
	case 'r':
		if s := RegName(i.Imm); s != "" {
			return s
		}
		return fmt.Sprintf("reg%d", i.Imm)
	case 'e':
		if i.Imm >= 0 && i.Imm < NumEnv {
			return envNames[i.Imm]
		}
		return fmt.Sprintf("env%d", i.Imm)
	case 'm':
		return wideString(i.Imm)
	case 'X':
		return wideString(i.Aux)
	case '@':
		return fmt.Sprintf("@%d", i.Imm)
	case 'n':
		return strconv.FormatInt(i.Aux, 10)
	case 's':
		return strconv.Quote(i.Data)
	}
	panic("BUG: ir: unknown field " + string(f) + " in the table of operations")
}

// wideString is safe for numbers that no register has.
func wideString(n int64) string {
	if s := WideName(n); s != "" {
		return s
	}
	return fmt.Sprintf("wide%d", n)
}

func (p *Program) floatString(i *Instr) string {
	if c, _ := p.class(i.Dst); c == F32 {
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(i.Imm))), 'g', -1, 32)
	}
	return strconv.FormatFloat(math.Float64frombits(uint64(i.Imm)), 'g', -1, 64)
}

// String returns the text form of t.
func (t *Term) String() string {
	switch t.Kind {
	case Exit:
		return "exit"
	case Jump:
		return "jump " + t.Then.String()
	case Branch:
		rare := ""
		if t.Unlikely {
			rare = "unlikely "
		}
		return fmt.Sprintf("brif %s%s -> %s else %s", rare, valueString(t.Cond), t.Then.String(), t.Else.String())
	}
	return fmt.Sprintf("terminator%d", t.Kind)
}

// String returns the text form of e.
func (e *Edge) String() string {
	s := "b" + strconv.Itoa(int(e.To))
	if len(e.Args) == 0 {
		return s
	}
	args := make([]string, len(e.Args))
	for i, v := range e.Args {
		args[i] = valueString(v)
	}
	return s + "(" + strings.Join(args, ", ") + ")"
}
