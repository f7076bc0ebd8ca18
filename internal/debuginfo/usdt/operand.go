package usdt

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
)

// Arg is one argument of a probe.
type Arg struct {
	Text   string // as in the note
	Size   int    // bytes
	Signed bool
	Float  bool
	Type   *ctype.Type
	op     operand
	// Err is the reason if the operand cannot be parsed. The argument then has no value.
	Err error
}

// opKind is the kind of an operand.
type opKind uint8

const (
	opReg   opKind = iota // %eax
	opImm                 // $5, $symbol+8
	opMem                 // disp(base,index,scale), symbol(%rip), a bare address
	opEmpty               // not parsed
)

// operand is one assembler operand.
type operand struct {
	kind        opKind
	reg         register // opReg
	seg         string   // opMem: "fs", "gs", "" for none
	disp        number   // opMem, opImm
	base, index register // opMem: num is regNone if absent
	scale       int64
	signed      bool // opMem: the index is the low half of its register, sign-extended
}

// syntax is how the assembler of one processor spells operands.
type syntax struct {
	// registers has the names of registers, without a mark before them.
	registers map[string]register
	// parse reads an operand whose fields are empty.
	parse func(p *parser, op *operand) error
}

// native is that of the processor of this machine.
var native = map[string]*syntax{"amd64": &att, "arm64": &a64}[host.Processor.Name]

// ParseArgs splits the argument string of a note. If an argument cannot be parsed, its Err has the reason and
// it keeps its number.
func ParseArgs(text string) []Arg { return native.args(text) }

func (syn *syntax) args(text string) []Arg {
	var out []Arg
	for _, t := range splitArgs(text) {
		a := Arg{Text: t}
		if err := a.parse(syn); err != nil {
			a.op = operand{kind: opEmpty}
			a.Err = fmt.Errorf("cannot parse its operand %q: %w", t, err)
			if a.Type == nil {
				a.Size, a.Type = 8, sized(8, false)
			}
		}
		out = append(out, a)
	}
	return out
}

// splitArgs splits at blanks outside parentheses and brackets.
func splitArgs(text string) []string {
	var out []string
	depth, from := 0, -1
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '(' || c == '[':
			depth++
		case (c == ')' || c == ']') && depth > 0:
			depth--
		}
		blank := c == ' ' || c == '\t' || c == '\n'
		if blank && depth == 0 {
			if from >= 0 {
				out = append(out, text[from:i])
			}
			from = -1
		} else if from < 0 {
			from = i
		}
	}
	if from >= 0 {
		out = append(out, text[from:])
	}
	return out
}

// parse reads "N@OPERAND", "Nf@OPERAND" or a bare operand, which is an unsigned
// word.
func (a *Arg) parse(syn *syntax) error {
	rest := a.Text
	a.Size = 8
	if i := strings.IndexByte(rest, '@'); i >= 0 && sizeText(rest[:i]) {
		if err := a.size(rest[:i]); err != nil {
			return err
		}
		rest = rest[i+1:]
	}
	a.Type = a.ctype()
	op, err := syn.operand(rest)
	if err != nil {
		return err
	}
	a.op = op
	return a.fits()
}

// sizeText distinguishes a size from the start of an operand such as "x@tpoff".
func sizeText(s string) bool {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "-"), "f")
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (a *Arg) size(s string) error {
	s, a.Float = strings.CutSuffix(s, "f")
	s, a.Signed = strings.CutPrefix(s, "-")
	n := 0
	for _, c := range s {
		if n = n*10 + int(c-'0'); n > 1<<20 {
			return fmt.Errorf("invalid size")
		}
	}
	if n == 0 {
		return fmt.Errorf("the size is zero")
	}
	a.Size = n
	return nil
}

// fits rejects sizes that neither a register nor a word has.
func (a *Arg) fits() error {
	limit := 8
	switch {
	case a.op.kind == opMem:
		return nil
	case a.op.kind == opReg && a.op.reg.vector():
		limit = 16
	}
	if a.Size > limit {
		return fmt.Errorf("%d bytes do not fit there", a.Size)
	}
	return nil
}

// ctype returns the type for a size and sign: <stdint.h>'s integers, the floating types, bytes for structs.
func (a *Arg) ctype() *ctype.Type {
	if a.Float {
		switch a.Size {
		case 4:
			return ctype.FloatT
		case 8:
			return ctype.DoubleT
		case 16:
			return &ctype.Type{Kind: ctype.Float, Name: "long double", Size: 16}
		}
		return ctype.ArrayOf(sized(1, false), int64(a.Size))
	}
	if t := sized(a.Size, a.Signed); t != nil {
		return t
	}
	return ctype.ArrayOf(sized(1, false), int64(a.Size))
}

var integers = map[int]*ctype.Type{
	1:  {Kind: ctype.Int, Name: "uint8_t", Size: 1},
	2:  {Kind: ctype.Int, Name: "uint16_t", Size: 2},
	4:  {Kind: ctype.Int, Name: "uint32_t", Size: 4},
	8:  {Kind: ctype.Int, Name: "uint64_t", Size: 8},
	-1: {Kind: ctype.Int, Name: "int8_t", Size: 1, Signed: true},
	-2: {Kind: ctype.Int, Name: "int16_t", Size: 2, Signed: true},
	-4: {Kind: ctype.Int, Name: "int32_t", Size: 4, Signed: true},
	-8: {Kind: ctype.Int, Name: "int64_t", Size: 8, Signed: true},
}

func sized(n int, signed bool) *ctype.Type {
	if signed {
		n = -n
	}
	return integers[n]
}

// operand reads one operand.
func (syn *syntax) operand(s string) (operand, error) {
	p := parser{s: s, registers: syn.registers}
	op := operand{base: register{num: regNone}, index: register{num: regNone}, scale: 1}
	if err := syn.parse(&p, &op); err != nil {
		return operand{kind: opEmpty}, err
	}
	if p.blanks(); p.i != len(p.s) {
		return operand{kind: opEmpty}, fmt.Errorf("unexpected %q", p.s[p.i:])
	}
	return op, nil
}
