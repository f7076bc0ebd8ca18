package usdt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
)

// att is AT&T syntax: "%eax", "$5", "disp(base,index,scale)".
var att = syntax{registers: attRegisters(), parse: (*parser).att}

// attRegisters: the low part of a vector register is the same register under three names.
func attRegisters() map[string]register {
	m := generalRegisters(&amd64.Processor)
	m["rip"], m["eip"] = register{num: regIP, bits: 64}, register{num: regIP, bits: 32}
	for i := range amd64.NumXMM {
		for _, x := range []string{"xmm", "ymm", "zmm"} {
			m[x+strconv.Itoa(i)] = register{num: int(amd64.DwarfXMM0) + i, bits: 128, vec: true}
		}
	}
	return m
}

func (p *parser) att(op *operand) (err error) {
	switch {
	case p.take('$'):
		op.kind = opImm
		op.disp, err = p.expr(0)
		return err
	case p.peek() == '%':
		return p.regOrSegment(op)
	}
	return p.memory(op)
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
	r, ok := p.registers[name]
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
	r, ok := p.registers[name]
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

// regName reads "%name".
func (p *parser) regName() string {
	p.take('%')
	return strings.ToLower(p.while(alnum))
}
