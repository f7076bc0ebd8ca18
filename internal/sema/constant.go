package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ir"
)

// constInt returns the value of an integer or pointer expression that is constant, extended by its type. It
// computes with ir's semantics of the operations that lowering would emit.
func constInt(e expr) (int64, bool) {
	switch e := e.(type) {
	case *intConst:
		return e.v, true
	case *conv:
		return constConv(e)
	case *unary:
		x, ok := constInt(e.x)
		op := ir.Not
		if e.op == "-" {
			op = ir.Neg
		}
		return constOp(op, e.t, e.t, x, 0, ok)
	case *arith:
		return constArith(e)
	case *compare:
		rule := comparisons[e.op]
		x, ok := constInt(e.x)
		y, ok2 := constInt(e.y)
		if rule.swap {
			x, y = y, x
		}
		return constOp(pick([2]ir.Op{rule.s, rule.u}, e.x.Type()), e.x.Type(), ctype.IntT, x, y, ok && ok2)
	case *not:
		x, ok := constTruth(e.x)
		return 1 - x, ok
	case *logic:
		x, ok := constTruth(e.x)
		if ok && (x == 0) == e.and {
			return x, true
		}
		y, ok2 := constTruth(e.y)
		return y, ok && ok2
	case *condExpr:
		if c, ok := constTruth(e.c); ok && c != 0 {
			return constInt(e.a)
		} else if ok {
			return constInt(e.b)
		}
	}
	return 0, false
}

// constTruth is 0 or 1.
func constTruth(e expr) (int64, bool) {
	if f, ok := e.(*floatConst); ok {
		return truthOf(f.v != 0), true
	}
	v, ok := constInt(e)
	return truthOf(v != 0), ok
}

func truthOf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func constConv(e *conv) (int64, bool) {
	if f, ok := e.x.(*floatConst); ok {
		if e.t.Strip().Kind == ctype.Bool {
			return truthOf(f.v != 0), true
		}
		if isInt(e.t) && f.v > -1<<31 && f.v < 1<<31 {
			return canonical(int64(f.v), e.t), true
		}
		return 0, false
	}
	v, ok := constInt(e.x)
	if !ok || !isInt(e.t) && !isPointer(e.t) {
		return 0, false
	}
	if e.t.Strip().Kind == ctype.Bool {
		return truthOf(v != 0), true
	}
	return canonical(v, e.t), true
}

// canonical extends the low bytes of v by type t.
func canonical(v int64, t *ctype.Type) int64 {
	shift := 64 - 8*uint(min(t.Strip().Size, 8))
	if isSigned(t) {
		return v << shift >> shift
	}
	return int64(uint64(v) << shift >> shift)
}

func constArith(e *arith) (int64, bool) {
	if !isInt(e.t) {
		return 0, false
	}
	x, ok := constInt(e.x)
	y, ok2 := constInt(e.y)
	if (e.op == "/" || e.op == "%") && y == 0 {
		return 0, false // evaluated at the hit, where it is a fault
	}
	return constOp(pick(intOps[e.op], e.t), e.t, e.t, x, y, ok && ok2)
}

func constOp(op ir.Op, operands, result *ctype.Type, x, y int64, ok bool) (int64, bool) {
	if !ok || !isInt(operands) && !isPointer(operands) {
		return 0, false
	}
	v, ok := ir.Compute(op, width(operands), ir.I64, uint64(x), uint64(y))
	return canonical(int64(v), result), ok
}
