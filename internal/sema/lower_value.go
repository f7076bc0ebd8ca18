package sema

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ir"
)

// Representation of C values in IR values: floats in their class; integers narrower than 4
// bytes extended to 64 bits as their type says; integers of 4 bytes with unspecified high
// halves (operations on them have width 4); pointers and integers of 8 bytes whole.

// value makes the code for scalar value e.
func (l *lowerer) value(e expr) ir.Value {
	switch e := e.(type) {
	case *intConst:
		return l.b.Const(e.v)
	case *floatConst:
		return l.floatConst(e.t, e.v)
	case *load:
		return l.read(e.x)
	case *addrOf:
		return l.word(l.byteAddr(l.place(e.x)))
	case *conv:
		return l.convert(e)
	case *unary:
		return l.unary(e)
	case *arith:
		return l.arith(e)
	case *compare:
		return l.compare(e)
	case *not:
		return l.isZero(e.x)
	case *logic:
		return l.bool(e)
	case *textEq:
		return l.textEq(e)
	case *condExpr:
		return l.either(e.c, l.value, e.a, e.b, classOf(e.t))
	case *comma:
		l.discard(e.x)
		return l.value(e.y)
	case *ptrAdd:
		return l.ptrAdd(e)
	case *ptrDiff:
		return l.ptrDiff(e)
	case *dynamicSize:
		_, n := l.dynamicParts(e.x)
		return n
	}
	panic(fmt.Sprintf("BUG: sema: %T has no value", e))
}

// discard evaluates e for its faults.
func (l *lowerer) discard(e expr) {
	if v, ok := e.(*voidExpr); ok {
		l.discard(v.x)
		return
	}
	if isScalar(e.Type()) && !isLvalue(e) {
		l.value(e)
	}
}

func classOf(t *ctype.Type) ir.Class {
	if isFloat(t) {
		return floatClass(t.Strip().Size)
	}
	return ir.I64
}

// width is the width of operations on type t.
func width(t *ctype.Type) uint8 {
	if t.Strip().Size == 8 {
		return 8
	}
	return 4
}

func (l *lowerer) floatConst(t *ctype.Type, v float64) ir.Value {
	imm := int64(math.Float64bits(v))
	if t.Strip().Size == 4 {
		imm = int64(math.Float32bits(float32(v)))
	}
	return l.b.Def(classOf(t), ir.Instr{Op: ir.FConst, Imm: imm, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// wide is the value of integer or pointer e, extended to 64 bits.
func (l *lowerer) wide(e expr) ir.Value {
	v, t := l.value(e), e.Type().Strip()
	if t.Size == 4 {
		return l.extend(v, 4, isSigned(t))
	}
	return v
}

func (l *lowerer) convert(e *conv) ir.Value {
	from, to := e.x.Type().Strip(), e.t.Strip()
	switch {
	case to.Kind == ctype.Bool:
		if from.Kind == ctype.Bool {
			return l.value(e.x)
		}
		return l.isNonZero(e.x)
	case isFloat(from) && isFloat(to):
		v := l.value(e.x)
		if from.Size == to.Size {
			return v
		}
		return l.float(ir.FToF, to, v)
	case isFloat(from):
		return l.floatToInt(l.value(e.x), to)
	case isFloat(to):
		if from.Size == 8 && !isSigned(from) {
			return l.float(ir.UToF, to, l.value(e.x))
		}
		return l.float(ir.SToF, to, l.wide(e.x))
	case to.Size == 8:
		return l.wide(e.x)
	case to.Size == 4:
		return l.value(e.x)
	case from.Size == to.Size && isSigned(from) == isSigned(to):
		return l.value(e.x)
	}
	return l.extend(l.value(e.x), to.Size, isSigned(to))
}

func (l *lowerer) float(op ir.Op, to *ctype.Type, v ir.Value) ir.Value {
	return l.b.Def(classOf(to), ir.Instr{Op: op, A: v, B: ir.None, Fault: ir.NoBlock})
}

// floatToInt truncates; narrow types take the low bits of the 64-bit result, as gcc's code does.
func (l *lowerer) floatToInt(v ir.Value, to *ctype.Type) ir.Value {
	op := ir.FToS
	if to.Size == 8 && !isSigned(to) {
		op = ir.FToU
	}
	n := l.b.Def(ir.I64, ir.Instr{Op: op, A: v, B: ir.None, Fault: ir.NoBlock})
	if to.Size < 4 {
		return l.extend(n, to.Size, isSigned(to))
	}
	return n
}

func (l *lowerer) unary(e *unary) ir.Value {
	v := l.value(e.x)
	switch {
	case isFloat(e.t):
		return l.float(ir.FNeg, e.t, v)
	case e.op == "-":
		return l.b.Un(ir.Neg, width(e.t), v)
	}
	return l.b.Un(ir.Not, width(e.t), v)
}

var floatOps = map[string]ir.Op{"+": ir.FAdd, "-": ir.FSub, "*": ir.FMul, "/": ir.FDiv}

// intOps are the operations on signed and unsigned integers.
var intOps = map[string][2]ir.Op{
	"+": {ir.Add, ir.Add}, "-": {ir.Sub, ir.Sub}, "*": {ir.Mul, ir.Mul},
	"/": {ir.SDiv, ir.UDiv}, "%": {ir.SRem, ir.URem},
	"&": {ir.And, ir.And}, "|": {ir.Or, ir.Or}, "^": {ir.Xor, ir.Xor},
	"<<": {ir.Shl, ir.Shl}, ">>": {ir.Sar, ir.Shr},
}

func (l *lowerer) arith(e *arith) ir.Value {
	x, y := l.value(e.x), l.value(e.y)
	if isFloat(e.t) {
		return l.b.Def(classOf(e.t), ir.Instr{Op: floatOps[e.op], A: x, B: y, Fault: ir.NoBlock})
	}
	if e.op == "/" || e.op == "%" {
		if n, ok := constInt(e.y); !ok || n == 0 {
			l.testZero(y, width(e.t))
		}
	}
	return l.b.Bin(pick(intOps[e.op], e.t), width(e.t), x, y)
}

func pick(ops [2]ir.Op, t *ctype.Type) ir.Op {
	if isSigned(t) {
		return ops[0]
	}
	return ops[1]
}

// testZero leaves by the division edge when divisor y is zero.
func (l *lowerer) testZero(y ir.Value, w uint8) {
	zero := l.b.Bin(ir.Eq, w, y, l.b.Const(0))
	next := l.b.NewBlock("division")
	l.b.BranchTo(zero, ir.Edge{To: l.traps.at(l, trapDivide)}, ir.Edge{To: next}, true)
	l.b.Start(next)
}

// comparisons: the signed, unsigned and floating operation, and whether the operands change places.
var comparisons = map[string]struct {
	s, u, f ir.Op
	swap    bool
}{
	"==": {ir.Eq, ir.Eq, ir.FEq, false}, "!=": {ir.Ne, ir.Ne, ir.FNe, false},
	"<": {ir.SLt, ir.ULt, ir.FLt, false}, "<=": {ir.SLe, ir.ULe, ir.FLe, false},
	">": {ir.SLt, ir.ULt, ir.FLt, true}, ">=": {ir.SLe, ir.ULe, ir.FLe, true},
}

func (l *lowerer) compare(e *compare) ir.Value {
	rule, t := comparisons[e.op], e.x.Type()
	x, y := l.value(e.x), l.value(e.y)
	if rule.swap {
		x, y = y, x
	}
	if isFloat(t) {
		return l.b.Def(ir.I64, ir.Instr{Op: rule.f, A: x, B: y, Fault: ir.NoBlock})
	}
	return l.b.Bin(pick([2]ir.Op{rule.s, rule.u}, t), width(t), x, y)
}

// isZero is !e, isNonZero is e as 0 or 1.
func (l *lowerer) isZero(e expr) ir.Value    { return l.againstZero(e, ir.Eq, ir.FEq) }
func (l *lowerer) isNonZero(e expr) ir.Value { return l.againstZero(e, ir.Ne, ir.FNe) }

func (l *lowerer) againstZero(e expr, op, fop ir.Op) ir.Value {
	v := l.value(e)
	if t := e.Type(); isFloat(t) {
		zero := l.floatConst(t, 0)
		return l.b.Def(ir.I64, ir.Instr{Op: fop, A: v, B: zero, Fault: ir.NoBlock})
	}
	return l.b.Bin(op, width(e.Type()), v, l.b.Const(0))
}

func (l *lowerer) ptrAdd(e *ptrAdd) ir.Value {
	if _, ok := constInt(e.i); ok {
		return l.word(l.address(e))
	}
	p := l.value(e.p)
	i := l.value(e.i)
	if e.scale != 1 {
		i = l.b.Bin(ir.Mul, 8, i, l.b.Const(e.scale))
	}
	op := ir.Add
	if e.minus {
		op = ir.Sub
	}
	return l.b.Bin(op, 8, p, i)
}

// ptrDiff divides by the element size; C has no meaning for a remainder.
func (l *lowerer) ptrDiff(e *ptrDiff) ir.Value {
	d := l.b.Bin(ir.Sub, 8, l.value(e.x), l.value(e.y))
	switch {
	case e.size == 1:
		return d
	case e.size&(e.size-1) == 0:
		return l.b.Bin(ir.Sar, 8, d, l.b.Const(int64(bits.TrailingZeros64(uint64(e.size)))))
	}
	return l.b.Bin(ir.SDiv, 8, d, l.b.Const(e.size))
}
