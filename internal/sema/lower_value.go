package sema

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ir"
)

// values emits the values and places of typed trees.
type values struct{ *emitter }

// Representation of C values in IR values: floats in their class; integers narrower than 4
// bytes extended to 64 bits as their type says; integers of 4 bytes with unspecified high
// halves (operations on them have width 4); pointers and integers of 8 bytes whole.

// value makes the code for scalar value e.
func (vs *values) value(e expr) ir.Value {
	switch e := e.(type) {
	case *intConst:
		return vs.b.Const(e.v)
	case *floatConst:
		return vs.floatConst(e.t, e.v)
	case *load:
		return vs.read(e.x)
	case *addrOf:
		return vs.word(vs.byteAddr(vs.place(e.x)))
	case *conv:
		return vs.convert(e)
	case *unary:
		return vs.unary(e)
	case *arith:
		return vs.arith(e)
	case *compare:
		return vs.compare(e)
	case *not:
		return vs.isZero(e.x)
	case *logic:
		return vs.bool(e)
	case *textEq:
		return vs.textEq(e)
	case *condExpr:
		return vs.either(e.c, vs.value, e.a, e.b, classOf(e.t))
	case *comma:
		vs.discard(e.x)
		return vs.value(e.y)
	case *ptrAdd:
		return vs.ptrAdd(e)
	case *ptrDiff:
		return vs.ptrDiff(e)
	case *within:
		return vs.within(e)
	case *choice:
		return chosenValue(vs, e)
	case *arrayData:
		return vs.arrayData(e)
	case *objectWord:
		return vs.word(about(vs, e.object, e.ops))
	case *elapsedExpr:
		return vs.elapsed(e)
	case *keptExpr:
		return vs.keptValue(e)
	case *mapExpr:
		return vs.mapRead(e)
	case *localExpr:
		return vs.locals[e.n]
	case *variableExpr:
		return readVariable(vs.b, e.n)
	case *setExpr:
		return assignVariable(vs, e)
	case *nsecsExpr:
		return vs.nsecs()
	case *signalExpr:
		return sendSignal(vs, e)
	case *dynamicSize:
		_, n := vs.dynamicParts(e.x)
		return n
	}
	panic(fmt.Sprintf("BUG: sema: %T has no value", e))
}

// discard evaluates e for its faults.
func (vs *values) discard(e expr) {
	if v, ok := e.(*voidExpr); ok {
		vs.discard(v.x)
		return
	}
	if isScalar(e.Type()) && !isLvalue(e) {
		vs.value(e)
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

func (vs *values) floatConst(t *ctype.Type, v float64) ir.Value {
	imm := int64(math.Float64bits(v))
	if t.Strip().Size == 4 {
		imm = int64(math.Float32bits(float32(v)))
	}
	return vs.b.Def(classOf(t), ir.Instr{Op: ir.FConst, Imm: imm, A: ir.None, B: ir.None, Fault: ir.NoBlock})
}

// wide is the value of integer or pointer e, extended to 64 bits.
func (vs *values) wide(e expr) ir.Value {
	v, t := vs.value(e), e.Type().Strip()
	if t.Size == 4 {
		return vs.extend(v, 4, isSigned(t))
	}
	return v
}

func (vs *values) convert(e *conv) ir.Value {
	from, to := e.x.Type().Strip(), e.t.Strip()
	switch {
	case to.Kind == ctype.Bool:
		if from.Kind == ctype.Bool {
			return vs.value(e.x)
		}
		return vs.isNonZero(e.x)
	case isFloat(from) && isFloat(to):
		v := vs.value(e.x)
		if from.Size == to.Size {
			return v
		}
		return vs.float(ir.FToF, to, v)
	case isFloat(from):
		return vs.floatToInt(vs.value(e.x), to)
	case isFloat(to):
		if from.Size == 8 && !isSigned(from) {
			return vs.float(ir.UToF, to, vs.value(e.x))
		}
		return vs.float(ir.SToF, to, vs.wide(e.x))
	case to.Size == 8:
		return vs.wide(e.x)
	case to.Size == 4:
		return vs.value(e.x)
	case from.Size == to.Size && isSigned(from) == isSigned(to):
		return vs.value(e.x)
	}
	return vs.extend(vs.value(e.x), to.Size, isSigned(to))
}

func (vs *values) float(op ir.Op, to *ctype.Type, v ir.Value) ir.Value {
	return vs.b.Def(classOf(to), ir.Instr{Op: op, A: v, B: ir.None, Fault: ir.NoBlock})
}

// floatToInt truncates; narrow types take the low bits of the 64-bit result, as gcc's code does.
func (vs *values) floatToInt(v ir.Value, to *ctype.Type) ir.Value {
	op := ir.FToS
	if to.Size == 8 && !isSigned(to) {
		op = ir.FToU
	}
	n := vs.b.Def(ir.I64, ir.Instr{Op: op, A: v, B: ir.None, Fault: ir.NoBlock})
	if to.Size < 4 {
		return vs.extend(n, to.Size, isSigned(to))
	}
	return n
}

func (vs *values) unary(e *unary) ir.Value {
	v := vs.value(e.x)
	switch {
	case isFloat(e.t):
		return vs.float(ir.FNeg, e.t, v)
	case e.op == "-":
		return vs.b.Un(ir.Neg, width(e.t), v)
	}
	return vs.b.Un(ir.Not, width(e.t), v)
}

var floatOps = map[string]ir.Op{"+": ir.FAdd, "-": ir.FSub, "*": ir.FMul, "/": ir.FDiv}

// intOps are the operations on signed and unsigned integers.
var intOps = map[string][2]ir.Op{
	"+": {ir.Add, ir.Add}, "-": {ir.Sub, ir.Sub}, "*": {ir.Mul, ir.Mul},
	"/": {ir.SDiv, ir.UDiv}, "%": {ir.SRem, ir.URem},
	"&": {ir.And, ir.And}, "|": {ir.Or, ir.Or}, "^": {ir.Xor, ir.Xor},
	"<<": {ir.Shl, ir.Shl}, ">>": {ir.Sar, ir.Shr},
}

func (vs *values) arith(e *arith) ir.Value {
	x, y := vs.value(e.x), vs.value(e.y)
	if isFloat(e.t) {
		return vs.b.Def(classOf(e.t), ir.Instr{Op: floatOps[e.op], A: x, B: y, Fault: ir.NoBlock})
	}
	if e.op == "/" || e.op == "%" {
		if n, ok := constInt(e.y); !ok || n == 0 {
			vs.testZero(y, width(e.t))
		}
	}
	return vs.b.Bin(pick(intOps[e.op], e.t), width(e.t), x, y)
}

func pick(ops [2]ir.Op, t *ctype.Type) ir.Op {
	if isSigned(t) {
		return ops[0]
	}
	return ops[1]
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

func (vs *values) compare(e *compare) ir.Value {
	rule, t := comparisons[e.op], e.x.Type()
	x, y := vs.value(e.x), vs.value(e.y)
	if rule.swap {
		x, y = y, x
	}
	if isFloat(t) {
		return vs.b.Def(ir.I64, ir.Instr{Op: rule.f, A: x, B: y, Fault: ir.NoBlock})
	}
	return vs.b.Bin(pick([2]ir.Op{rule.s, rule.u}, t), width(t), x, y)
}

func (vs *values) ptrAdd(e *ptrAdd) ir.Value {
	if _, ok := constInt(e.i); ok {
		return vs.word(vs.address(e))
	}
	p := vs.value(e.p)
	i := vs.value(e.i)
	if e.scale != 1 {
		i = vs.b.Bin(ir.Mul, 8, i, vs.b.Const(e.scale))
	}
	op := ir.Add
	if e.minus {
		op = ir.Sub
	}
	return vs.b.Bin(op, 8, p, i)
}

func (vs *values) within(e *within) ir.Value {
	i, n := vs.wide(e.i), vs.wide(e.n)
	outside := vs.b.Bin(ir.ULe, 8, n, i)
	next := vs.b.NewBlock("index")
	vs.b.BranchTo(outside, ir.Edge{To: vs.traps.at(vs.emitter, trapIndex)}, ir.Edge{To: next}, true)
	vs.b.Start(next)
	return i
}

// ptrDiff divides by the element size; C has no meaning for a remainder.
func (vs *values) ptrDiff(e *ptrDiff) ir.Value {
	d := vs.b.Bin(ir.Sub, 8, vs.value(e.x), vs.value(e.y))
	switch {
	case e.size == 1:
		return d
	case e.size&(e.size-1) == 0:
		return vs.b.Bin(ir.Sar, 8, d, vs.b.Const(int64(bits.TrailingZeros64(uint64(e.size)))))
	}
	return vs.b.Bin(ir.SDiv, 8, d, vs.b.Const(e.size))
}

// isZero is !e, isNonZero is e as 0 or 1.
func (vs *values) isZero(e expr) ir.Value { return vs.againstZero(e, ir.Eq, ir.FEq) }

func (vs *values) isNonZero(e expr) ir.Value { return vs.againstZero(e, ir.Ne, ir.FNe) }

func (vs *values) againstZero(e expr, op, fop ir.Op) ir.Value {
	v := vs.value(e)
	if t := e.Type(); isFloat(t) {
		zero := vs.floatConst(t, 0)
		return vs.b.Def(ir.I64, ir.Instr{Op: fop, A: v, B: zero, Fault: ir.NoBlock})
	}
	return vs.b.Bin(op, width(e.Type()), v, vs.b.Const(0))
}
