package unwind

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// MaxRows bounds a table. Larger modules have none.
const MaxRows = 8 << 20

// Registers by their columns.
var (
	regPC = int(host.Processor.PC)
	regSP = int(host.Processor.SP)
	regFP = int(host.Processor.FP)
)

// row is a rule from an address on.
type row struct {
	pc   uint64
	rule Rule
}

// function is the rows of one entry.
type function struct {
	lo, hi      uint64
	first, last int // rows[first:last]
}

// Compile makes the table of a module's call frame information. It is nil where there is none, or where
// it would be too large.
func Compile(t *frame.Table) *Table {
	var rows []row
	var funcs []function
	t.Each(func(e *frame.Entry) {
		if len(rows) > MaxRows {
			return
		}
		f := function{lo: e.Lo, hi: e.Hi, first: len(rows)}
		err := e.Rows(func(r *frame.Row) {
			rule := ruleOf(r)
			if n := len(rows); n > f.first && rows[n-1].rule == rule {
				return
			}
			rows = append(rows, row{r.Lo, rule})
		})
		if err != nil { // what it says of the entry's start is no better than of its end
			rows = append(rows[:f.first], row{e.Lo, Rule(General)})
		}
		f.last = len(rows)
		funcs = append(funcs, f)
	})
	if len(rows) == 0 || len(rows) > MaxRows {
		return nil
	}
	slices.SortStableFunc(funcs, func(a, b function) int { return cmp.Compare(a.lo, b.lo) })
	return join(funcs, rows)
}

// join puts the rows of all entries in one order. Between entries nothing is known; where they
// overlap (they must not) it is not known which holds.
func join(funcs []function, rows []row) *Table {
	t := &Table{base: funcs[0].lo}
	add := func(pc uint64, r Rule) {
		n := len(t.starts)
		switch {
		case n > 0 && t.rules[n-1] == r:
		case n > 0 && uint64(t.starts[n-1]) == pc-t.base:
			t.rules[n-1] = r
		default:
			t.starts, t.rules = append(t.starts, uint32(pc-t.base)), append(t.rules, r)
		}
	}
	for i := range funcs {
		f := &funcs[i]
		end := f.hi
		overlap := i > 0 && funcs[i-1].hi > f.lo
		if i > 0 {
			end = max(end, funcs[i-1].hi)
		}
		if end-t.base >= 1<<32 {
			return nil
		}
		if overlap {
			add(f.lo, Rule(General))
			f.hi = end
		} else {
			for _, r := range rows[f.first:f.last] {
				add(r.pc, r.rule)
			}
		}
		if i+1 == len(funcs) || funcs[i+1].lo > f.hi {
			add(f.hi, Rule(None))
		}
	}
	t.end = t.base + uint64(t.starts[len(t.starts)-1])
	t.index()
	return t
}

// ruleOf packs a row.
func ruleOf(r *frame.Row) Rule {
	ra, hasRA := r.Column(r.RA)
	if hasRA && ra.Kind == frame.Undefined && r.RA == regPC {
		return Rule(Outermost)
	}
	if _, has := r.Column(regSP); has && !r.Signal || r.RA != regPC || !hasRA {
		return Rule(General)
	}
	fp, saved := r.Column(regFP)
	if r.Signal {
		return signalRule(r, ra, fp, saved)
	}
	if ra.Kind != frame.AtCFA || ra.Off != -wordSize {
		return Rule(General)
	}
	if r.CFAExpr != nil {
		distance, ok := derefFP(r.CFAExpr)
		if !ok || !saved || fp.Kind != frame.AtExpr || !bytes.Equal(fp.Expr, fpItself) {
			return Rule(General)
		}
		return NewRule(SavedByFP, distance, 0)
	}
	below := int64(0)
	switch {
	case !saved || fp.Kind == frame.SameValue:
	case fp.Kind == frame.AtCFA && fp.Off < 0:
		below = -fp.Off
	default:
		return Rule(General)
	}
	switch r.CFAReg {
	case regSP:
		return NewRule(BySP, r.CFAOff, below)
	case regFP:
		return NewRule(ByFP, r.CFAOff, below)
	}
	return Rule(General)
}

// DWARF operations of the expressions that have a form of their own.
const (
	opDeref = 0x06
	opBreg0 = 0x70
)

// fpItself is the address in the frame pointer.
var fpItself = []byte{opBreg0 + byte(regFP), 0}

// derefFP recognises the word at an address below the frame pointer, of one byte of SLEB128.
func derefFP(expr []byte) (distance int64, ok bool) {
	if len(expr) != 3 || expr[0] != fpItself[0] || expr[1] >= 0x80 || expr[2] != opDeref {
		return 0, false
	}
	return -(int64(int8(expr[1]<<1)) >> 1), true
}
