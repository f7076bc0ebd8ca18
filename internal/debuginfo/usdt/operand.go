package usdt

import (
	"fmt"
	"strings"

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

// operand is one assembler operand in AT&T syntax.
type operand struct {
	kind        opKind
	reg         register // opReg
	seg         string   // opMem: "fs", "gs", "" for none
	disp        number   // opMem, opImm
	base, index register // opMem: num is regNone if absent
	scale       int64
}

// ParseArgs splits the argument string of a note. If an argument cannot be parsed, its Err has the reason and
// it keeps its number.
func ParseArgs(text string) []Arg {
	var out []Arg
	for _, t := range splitArgs(text) {
		a := Arg{Text: t}
		if err := a.parse(); err != nil {
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

// splitArgs splits at blanks outside parentheses.
func splitArgs(text string) []string {
	var out []string
	depth, from := 0, -1
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
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
func (a *Arg) parse() error {
	rest := a.Text
	a.Size = 8
	if i := strings.IndexByte(rest, '@'); i >= 0 && sizeText(rest[:i]) {
		if err := a.size(rest[:i]); err != nil {
			return err
		}
		rest = rest[i+1:]
	}
	a.Type = a.ctype()
	op, err := parseOperand(rest)
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

// parseOperand reads one operand.
func parseOperand(s string) (operand, error) {
	p := parser{s: s}
	op := operand{base: register{num: regNone}, index: register{num: regNone}, scale: 1}
	var err error
	switch {
	case p.take('$'):
		op.kind = opImm
		op.disp, err = p.expr(0)
	case p.peek() == '%':
		err = p.regOrSegment(&op)
	default:
		err = p.memory(&op)
	}
	if err != nil {
		return operand{kind: opEmpty}, err
	}
	if p.blanks(); p.i != len(p.s) {
		return operand{kind: opEmpty}, fmt.Errorf("unexpected %q", p.s[p.i:])
	}
	return op, nil
}

// regOrSegment reads "%reg" or "%fs:memory".
func (p *parser) regOrSegment(op *operand) error {
	from := p.i
	name := p.regName()
	if p.take(':') {
		switch name {
		case "fs", "gs":
			op.seg = name
		case "cs", "ds", "es", "ss": // flat in 64-bit code
		default:
			return fmt.Errorf("%q is not a segment", p.s[from:p.i])
		}
		return p.memory(op)
	}
	r, ok := registers[name]
	if !ok {
		return fmt.Errorf("unknown register %%%s", name)
	}
	op.kind, op.reg = opReg, r
	return nil
}

// memory reads "disp(base,index,scale)". Each part is optional, but one must be present.
func (p *parser) memory(op *operand) (err error) {
	op.kind = opMem
	if !p.atAddress() {
		if op.disp, err = p.expr(0); err != nil {
			return err
		}
	}
	p.blanks()
	if !p.take('(') {
		return nil
	}
	if p.blanks(); p.peek() == '%' {
		if op.base, err = p.addrReg(true); err != nil {
			return err
		}
	}
	if p.blanks(); p.take(',') {
		if err := p.indexed(op); err != nil {
			return err
		}
	}
	if p.blanks(); !p.take(')') {
		return fmt.Errorf("unclosed parenthesis")
	}
	if op.base.num == regNone && op.index.num == regNone {
		return fmt.Errorf("no register in the parentheses")
	}
	return nil
}

// indexed reads "index[,scale]" after the first comma.
func (p *parser) indexed(op *operand) (err error) {
	if p.blanks(); p.peek() == '%' {
		if op.index, err = p.addrReg(false); err != nil {
			return err
		}
		if op.base.num == regIP {
			return fmt.Errorf("%%rip takes no index")
		}
	}
	if p.blanks(); !p.take(',') {
		return nil
	}
	n, err := p.expr(0)
	if err != nil {
		return err
	}
	switch op.scale = n.val; {
	case n.sym != "":
		return fmt.Errorf("the scale is a symbol")
	case op.scale != 1 && op.scale != 2 && op.scale != 4 && op.scale != 8:
		return fmt.Errorf("the scale is %d", op.scale)
	}
	return nil
}

// addrReg reads a register of an address.
func (p *parser) addrReg(base bool) (register, error) {
	name := p.regName()
	r, ok := registers[name]
	if !ok || !r.index && !(base && r.num == regIP) || !base && r.num == 7 {
		return r, fmt.Errorf("%%%s cannot be part of an address", name)
	}
	return r, nil
}

// atAddress reports whether the next parenthesis contains registers and not a number.
func (p *parser) atAddress() bool {
	p.blanks()
	if p.peek() != '(' {
		return false
	}
	rest := strings.TrimLeft(p.s[p.i+1:], " \t")
	return rest != "" && (rest[0] == '%' || rest[0] == ',')
}
