package frame

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/loc"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// row is the state of the call frame machine.
type row struct {
	cfaReg  int
	cfaOff  int64
	cfaExpr []byte
	regs    []setting
}

// setting is the rule of the register of that number.
type setting struct {
	n    int
	kind RuleKind
	off  int64
	reg  int
	expr []byte
}

func (r *row) copy() row {
	c := *r
	c.regs = slices.Clone(r.regs)
	return c
}

// find is the rule of a register; nil: it has none. Rows have few.
func (r *row) find(n int) *setting {
	for i := range r.regs {
		if r.regs[i].n == n {
			return &r.regs[i]
		}
	}
	return nil
}

func (r *row) set(s setting) {
	if old := r.find(s.n); old != nil {
		*old = s
	} else {
		r.regs = append(r.regs, s)
	}
}

func (r *row) drop(n int) {
	r.regs = slices.DeleteFunc(r.regs, func(s setting) bool { return s.n == n })
}

// machine runs call frame instructions until the location passes pc.
type machine struct {
	c      *cie
	row    row
	init   row
	stack  []row
	lo, hi uint64 // where the row holds
	loc    uint64
	pc     uint64
	past   bool
	each   func(hi uint64) // if not nil: called for each row, which ends at hi, before the location moves on
	err    error
}

// maxRemembered bounds DW_CFA_remember_state nesting.
const maxRemembered = 64

// Rule computes the row for pc.
func (f *Entry) Rule(pc uint64) (*Rule, error) {
	x := &machine{c: f.c, loc: f.Lo, lo: f.Lo, hi: f.Hi, pc: pc, row: row{cfaReg: -1}}
	x.run(f.c.init)
	x.init = x.row.copy()
	x.run(f.insts)
	if x.err != nil {
		return nil, x.err
	}
	return x.result()
}

func (x *machine) result() (*Rule, error) {
	r := &Rule{Lo: x.lo, Hi: x.hi, RA: x.c.ra, Signal: x.c.signal, Regs: map[int]RegRule{}}
	env := &loc.Env{AddrSize: x.c.addrSize}
	switch {
	case x.row.cfaExpr != nil:
		ops, why := env.Word(x.row.cfaExpr, nil)
		if why != "" {
			return nil, fmt.Errorf("the frame at %#x cannot be unwound: %s", x.pc, why)
		}
		r.CFA = ops
	case x.row.cfaReg < 0 || x.row.cfaReg >= int(host.Processor.FrameColumns):
		return nil, fmt.Errorf("the call frame information at %#x does not define the frame address", x.pc)
	default:
		r.CFA = []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(x.row.cfaReg)}}
		if x.row.cfaOff != 0 {
			r.CFA = append(r.CFA, debuginfo.Op{Code: debuginfo.OpAddConst, Arg: x.row.cfaOff})
		}
	}
	for _, raw := range x.row.regs {
		rule := RegRule{Kind: raw.kind, Offset: raw.off, Reg: raw.reg}
		if raw.expr != nil {
			if rule.Expr, rule.Why = env.Word(raw.expr, r.CFA); rule.Why != "" {
				rule.Kind, rule.Expr = NoLocation, nil
			}
		}
		r.Regs[raw.n] = rule
	}
	return r, nil
}

func (x *machine) run(insts []byte) {
	c := raw.Cursor{B: insts}
	for !c.Done() && !x.past && x.err == nil {
		op := c.U8()
		arg := uint64(op & 0x3f)
		switch op & 0xc0 {
		case 0x40:
			x.advance(arg)
			continue
		case 0x80:
			x.set(arg, setting{kind: AtCFA, off: int64(c.ULEB()) * x.c.dataAlign})
			continue
		case 0xc0:
			x.restore(arg)
			continue
		}
		if int(op) >= len(cfaOps) || cfaOps[op] == nil {
			x.err = fmt.Errorf("unknown call frame instruction %#x at %#x", op, x.loc)
			return
		}
		cfaOps[op](x, &c)
	}
	if c.Bad && x.err == nil && !x.past {
		x.err = fmt.Errorf("truncated call frame instructions at %#x", x.loc)
	}
}

func (x *machine) advance(n uint64) { x.moveTo(x.loc + n*x.c.codeAlign) }

func (x *machine) moveTo(loc uint64) {
	if loc < x.loc {
		x.err = fmt.Errorf("the call frame information at %#x goes backwards", x.loc)
		return
	}
	if x.each != nil && loc > x.loc && x.loc < x.hi {
		x.each(min(loc, x.hi))
	}
	if loc > x.pc {
		x.hi, x.past = min(x.hi, loc), true
		return
	}
	x.loc, x.lo = loc, loc
}

// maxCFIReg bounds the register numbers that are kept.
const maxCFIReg = 1 << 10

func (x *machine) set(reg uint64, r setting) {
	if reg < maxCFIReg {
		r.n = int(reg)
		x.row.set(r)
	}
}

func (x *machine) restore(reg uint64) {
	n := int(min(reg, maxCFIReg))
	if r := x.init.find(n); r != nil {
		x.row.set(*r)
	} else {
		x.row.drop(n)
	}
}

func (x *machine) defCFA(reg uint64, off int64) {
	x.row.cfaReg, x.row.cfaOff, x.row.cfaExpr = int(min(reg, maxCFIReg)), off, nil
	if reg == x86SP && off == x86Word && x.c.ra == x86RA {
		x.row.regs = slices.DeleteFunc(x.row.regs, func(s setting) bool { return s.kind == AtExpr })
	}
}

// At the end of a function that aligns its stack, gcc does not say that it has restored the registers, which it describes
// by expressions (of the frame pointer). When nothing but the return address is left of the frame, they have their values.
const (
	x86SP, x86RA = 7, 16
	armRA        = 30
	x86Word      = 8
)

func (x *machine) expr(c *raw.Cursor, kind RuleKind) {
	reg := c.ULEB()
	b := c.Block(c.ULEB())
	if b == nil {
		b = []byte{}
	}
	x.set(reg, setting{kind: kind, expr: b})
}

// cfaOps are the instructions without an operand in the opcode byte (DWARF 5
// section 6.4.2 and GNU).
var cfaOps = [...]func(x *machine, c *raw.Cursor){
	0x00: func(x *machine, c *raw.Cursor) {},
	0x01: func(x *machine, c *raw.Cursor) { x.moveTo(c.Uint(x.c.addrSize)) },
	0x02: func(x *machine, c *raw.Cursor) { x.advance(uint64(c.U8())) },
	0x03: func(x *machine, c *raw.Cursor) { x.advance(uint64(c.U16())) },
	0x04: func(x *machine, c *raw.Cursor) { x.advance(uint64(c.U32())) },
	0x05: func(x *machine, c *raw.Cursor) {
		x.set(c.ULEB(), setting{kind: AtCFA, off: int64(c.ULEB()) * x.c.dataAlign})
	},
	0x06: func(x *machine, c *raw.Cursor) { x.restore(c.ULEB()) },
	0x07: func(x *machine, c *raw.Cursor) { x.set(c.ULEB(), setting{kind: Undefined}) },
	0x08: func(x *machine, c *raw.Cursor) { x.set(c.ULEB(), setting{kind: SameValue}) },
	0x09: func(x *machine, c *raw.Cursor) {
		x.set(c.ULEB(), setting{kind: InOther, reg: int(min(c.ULEB(), maxCFIReg))})
	},
	0x0a: func(x *machine, c *raw.Cursor) {
		if len(x.stack) >= maxRemembered {
			x.err = fmt.Errorf("the call frame information at %#x nests too deep", x.loc)
			return
		}
		x.stack = append(x.stack, x.row.copy())
	},
	0x0b: func(x *machine, c *raw.Cursor) {
		if n := len(x.stack); n > 0 {
			x.row, x.stack = x.stack[n-1], x.stack[:n-1]
		} else {
			x.err = fmt.Errorf("the call frame information at %#x restores what was not saved", x.loc)
		}
	},
	0x0c: func(x *machine, c *raw.Cursor) { x.defCFA(c.ULEB(), int64(c.ULEB())) },
	0x0d: func(x *machine, c *raw.Cursor) { x.row.cfaReg = int(min(c.ULEB(), maxCFIReg)) },
	0x0e: func(x *machine, c *raw.Cursor) { x.row.cfaOff = int64(c.ULEB()) },
	0x0f: func(x *machine, c *raw.Cursor) {
		b := c.Block(c.ULEB())
		x.row.cfaExpr = append([]byte{}, b...)
	},
	0x10: func(x *machine, c *raw.Cursor) { x.expr(c, AtExpr) },
	0x11: func(x *machine, c *raw.Cursor) {
		x.set(c.ULEB(), setting{kind: AtCFA, off: c.SLEB() * x.c.dataAlign})
	},
	0x12: func(x *machine, c *raw.Cursor) { x.defCFA(c.ULEB(), c.SLEB()*x.c.dataAlign) },
	0x13: func(x *machine, c *raw.Cursor) { x.row.cfaOff = c.SLEB() * x.c.dataAlign },
	0x14: func(x *machine, c *raw.Cursor) {
		x.set(c.ULEB(), setting{kind: IsCFA, off: int64(c.ULEB()) * x.c.dataAlign})
	},
	0x15: func(x *machine, c *raw.Cursor) {
		x.set(c.ULEB(), setting{kind: IsCFA, off: c.SLEB() * x.c.dataAlign})
	},
	0x16: func(x *machine, c *raw.Cursor) { x.expr(c, IsExpr) },
	0x2d: func(x *machine, c *raw.Cursor) { // AARCH64_negate_ra_state: from here on the return address is signed, or not any more
		if x.c.ra != armRA {
			x.err = fmt.Errorf("the call frame information at %#x is of another processor", x.loc)
		}
	},
	0x2e: func(x *machine, c *raw.Cursor) { c.ULEB() }, // GNU_args_size
	0x2f: func(x *machine, c *raw.Cursor) {
		x.set(c.ULEB(), setting{kind: AtCFA, off: -int64(c.ULEB()) * x.c.dataAlign})
	},
}
