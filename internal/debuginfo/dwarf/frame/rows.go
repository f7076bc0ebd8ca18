package frame

import "github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"

// Row is a stretch of addresses with one set of rules, as the file has them: expressions are
// bytes. It is valid until the call that received it returns.
type Row struct {
	Lo, Hi  uint64
	CFAReg  int // -1: the row does not define the frame address in this way
	CFAOff  int64
	CFAExpr []byte // nil: by the register
	RA      int    // the column of the return address
	Signal  bool   // see Rule
	m       *machine
}

// Column is the rule of one register in a Row.
type Column struct {
	Kind RuleKind
	Off  int64
	Reg  int
	Expr []byte
}

// Column returns the rule of a register; ok is false where the row has none.
func (r *Row) Column(n int) (c Column, ok bool) {
	s := r.m.row.find(n)
	if s == nil {
		return c, false
	}
	return Column{s.kind, s.off, s.reg, s.expr}, true
}

// Rows visits the rows of an entry in the order of their addresses, which have no gaps. The error is the
// reason why the following rows cannot be read.
func (f *Entry) Rows(visit func(*Row)) error {
	x := &machine{c: f.c, loc: f.Lo, lo: f.Lo, hi: f.Hi, pc: f.Hi - 1, row: row{cfaReg: -1}}
	x.run(f.c.init)
	x.init = x.row.copy()
	give := func(hi uint64) {
		visit(&Row{
			Lo: x.loc, Hi: hi, CFAReg: x.row.cfaReg, CFAOff: x.row.cfaOff, CFAExpr: x.row.cfaExpr,
			RA: f.c.ra, Signal: f.c.signal, m: x,
		})
	}
	x.each = give
	x.run(f.insts)
	if x.err != nil {
		return x.err
	}
	if !x.past {
		give(f.Hi)
	}
	return nil
}

// Each visits the entries that Find gives, in the order of the file, without keeping them:
// where two sections describe an address it is the first.
func (c *Table) Each(visit func(*Entry)) {
	for i, s := range c.secs {
		for off := uint64(0); off < uint64(len(s.b)); {
			cur := raw.At(s.b, off)
			n, _ := cur.InitialLength()
			if cur.Bad || n == 0 && s.eh {
				break
			}
			if f := s.parse(off); f != nil && !covered(c.secs[:i], f.Lo) {
				visit(f)
			}
			if n > uint64(cur.Left()) {
				break
			}
			off = uint64(cur.Off) + n
		}
	}
}

func covered(secs []*section, pc uint64) bool {
	for _, s := range secs {
		if s.find(pc) != nil {
			return true
		}
	}
	return false
}
