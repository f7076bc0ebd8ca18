package usdt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/arm64"
)

// a64 is the syntax of AArch64 (Arm ARM, C1.2 and C1.3.3): "x0", "5" or "#5",
// "[sp, 16]", "[x1, x2, lsl 3]", "[x1, w2, sxtw 2]".
var a64 = syntax{registers: a64Registers(), parse: (*parser).a64}

func a64Registers() map[string]register {
	m := generalRegisters(&arm64.Processor)
	for i := range arm64.NumV {
		for name, bits := range map[string]int{"b": 8, "h": 16, "s": 32, "d": 64, "q": 128, "v": 128} {
			m[name+strconv.Itoa(i)] = register{num: int(arm64.V0) + i, bits: bits, vec: true}
		}
	}
	return m
}

func (p *parser) a64(op *operand) (err error) {
	if p.take('[') {
		op.kind = opMem
		return p.a64Memory(op)
	}
	from := p.i
	switch name := strings.ToLower(p.while(alnum)); {
	case p.i != len(p.s):
	case name == "xzr" || name == "wzr":
		op.kind = opImm
		return nil
	default:
		if r, ok := p.registers[name]; ok {
			op.kind, op.reg = opReg, r
			return nil
		}
	}
	p.i = from
	op.kind = opImm
	op.disp, err = p.a64Number()
	return err
}

func (p *parser) a64Number() (number, error) {
	p.blanks()
	p.take('#')
	if p.peek() == ':' {
		return number{}, fmt.Errorf("a part of an address (%s) is not supported", p.s[p.i:])
	}
	return p.expr(0)
}

// a64Memory reads what follows the bracket. An address that the instruction would change
// ("[x0, 8]!", "[x0], 8") is no place.
func (p *parser) a64Memory(op *operand) (err error) {
	if op.base, err = p.a64Register(); err != nil {
		return err
	}
	if op.base.bits != 64 {
		return fmt.Errorf("a base of %d bits", op.base.bits)
	}
	if p.blanks(); p.take(',') {
		p.blanks()
		if c := p.peek() | 0x20; c == 'x' || c == 'w' || c == 's' {
			err = p.a64Index(op)
		} else {
			op.disp, err = p.a64Number()
		}
		if err != nil {
			return err
		}
		if op.disp.sym != "" {
			return fmt.Errorf("an offset with the symbol %s", op.disp.sym)
		}
	}
	if p.blanks(); !p.take(']') {
		return fmt.Errorf("unclosed bracket")
	}
	return nil
}

// a64Index reads "x2", "x2, lsl 3", "w2, uxtw 2": the index and how it is extended.
func (p *parser) a64Index(op *operand) (err error) {
	if op.index, err = p.a64Register(); err != nil {
		return err
	}
	if p.blanks(); !p.take(',') {
		if op.index.bits != 64 {
			return fmt.Errorf("an index of %d bits that is not extended", op.index.bits)
		}
		return nil
	}
	p.blanks()
	how := strings.ToLower(p.while(alnum))
	switch {
	case (how == "lsl" || how == "sxtx") && op.index.bits == 64, how == "uxtw" && op.index.bits == 32:
	case how == "sxtw" && op.index.bits == 32:
		op.signed = true
	default:
		return fmt.Errorf("%q does not extend an index of %d bits", how, op.index.bits)
	}
	if p.blanks(); p.peek() == ']' && how != "lsl" {
		return nil
	}
	n, err := p.a64Number()
	if err == nil && (n.sym != "" || n.val < 0 || n.val > 4) {
		err = fmt.Errorf("an index shifted by %s%d", n.sym, n.val)
	}
	if err == nil {
		op.scale = 1 << n.val
	}
	return err
}

func (p *parser) a64Register() (register, error) {
	p.blanks()
	name := strings.ToLower(p.while(alnum))
	r, ok := p.registers[name]
	if !ok || !r.index {
		return r, fmt.Errorf("%q cannot be part of an address", name)
	}
	return r, nil
}
