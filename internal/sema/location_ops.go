package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
)

// The arithmetic of location expressions.

var locationOps = map[debuginfo.OpCode]ir.Op{
	debuginfo.OpAnd: ir.And, debuginfo.OpOr: ir.Or, debuginfo.OpXor: ir.Xor,
	debuginfo.OpSub: ir.Sub, debuginfo.OpMul: ir.Mul,
	debuginfo.OpEq: ir.Eq, debuginfo.OpNe: ir.Ne, debuginfo.OpLt: ir.SLt, debuginfo.OpLe: ir.SLe,
	debuginfo.OpULt: ir.ULt, debuginfo.OpULe: ir.ULe,
}

var divisions = map[debuginfo.OpCode]ir.Op{
	debuginfo.OpDiv: ir.SDiv, debuginfo.OpUDiv: ir.UDiv, debuginfo.OpMod: ir.URem, debuginfo.OpSMod: ir.SRem,
}

// swapped are the comparisons that exist with exchanged operands.
var swapped = map[debuginfo.OpCode]ir.Op{
	debuginfo.OpGt: ir.SLt, debuginfo.OpGe: ir.SLe, debuginfo.OpUGt: ir.ULt, debuginfo.OpUGe: ir.ULe,
}

// compute executes the arithmetic operations.
func (m *locator) compute(op debuginfo.Op) {
	l, b := m.l, m.l.b
	if op.Code >= debuginfo.OpVector {
		m.float(op)
		return
	}
	switch op.Code {
	case debuginfo.OpNeg:
		m.pushv(b.Un(ir.Neg, 8, m.popv()))
	case debuginfo.OpNot:
		m.pushv(b.Un(ir.Not, 8, m.popv()))
	case debuginfo.OpAbs: // (x ^ sign) - sign
		x := m.popv()
		sign := b.Bin(ir.Sar, 8, x, b.Const(63))
		m.pushv(b.Bin(ir.Sub, 8, b.Bin(ir.Xor, 8, x, sign), sign))
	case debuginfo.OpConvert:
		m.pushv(l.extend(m.popv(), max(op.Arg, -op.Arg), op.Arg < 0))
	case debuginfo.OpAdd:
		y, x := m.pop(), m.pop()
		if x.isConst() {
			x, y = y, x
		}
		if y.isConst() {
			s := sym{v: x.v, off: x.off + y.off, trust: x.trust}
			if x.isConst() && s.trust == noTrust {
				s.trust = y.trust
			}
			m.push(s)
			return
		}
		m.push(sym{v: b.Bin(ir.Add, 8, x.v, y.v), off: x.off + y.off})
	case debuginfo.OpDiv, debuginfo.OpMod, debuginfo.OpUDiv, debuginfo.OpSMod:
		y, x := m.popv(), m.popv()
		l.testZero(y, 8)
		m.pushv(b.Bin(divisions[op.Code], 8, x, y))
	case debuginfo.OpShl, debuginfo.OpShr, debuginfo.OpShra:
		y, x := m.popv(), m.popv()
		m.pushv(m.shift(op.Code, x, y))
	case debuginfo.OpGt, debuginfo.OpGe, debuginfo.OpUGt, debuginfo.OpUGe:
		y, x := m.popv(), m.popv()
		m.pushv(b.Bin(swapped[op.Code], 8, y, x))
	default:
		iop, ok := locationOps[op.Code]
		if !ok {
			panic(fmt.Sprintf("BUG: sema: location operation %d", op.Code))
		}
		y, x := m.popv(), m.popv()
		m.pushv(b.Bin(iop, 8, x, y))
	}
}

// shift: DWARF counts are not modulo; 64 and more shift everything out.
func (m *locator) shift(code debuginfo.OpCode, x, n ir.Value) ir.Value {
	b := m.l.b
	small := b.Bin(ir.ULt, 8, n, b.Const(64))
	if code == debuginfo.OpShra { // counts above 63 act as 63
		mask := b.Bin(ir.Sub, 8, small, b.Const(1)) // 0, or all ones
		return b.Bin(ir.Sar, 8, x, b.Bin(ir.And, 8, b.Bin(ir.Or, 8, n, mask), b.Const(63)))
	}
	op := ir.Shl
	if code == debuginfo.OpShr {
		op = ir.Shr
	}
	return b.Bin(ir.And, 8, b.Bin(op, 8, x, n), b.Un(ir.Neg, 8, small))
}

// float executes the operations in floating point. The entries of the stack are the bits of the numbers.
func (m *locator) float(op debuginfo.Op) {
	class := floatClass(op.Arg)
	of := func(class ir.Class, op ir.Op, a, b ir.Value) ir.Value {
		return m.l.b.Def(class, ir.Instr{Op: op, A: a, B: b, Fault: ir.NoBlock})
	}
	number := func(class ir.Class) ir.Value { return of(class, ir.BitsF, m.popv(), ir.None) }
	switch op.Code {
	case debuginfo.OpVector:
		n, _ := processor.Vector(arch.Reg(op.Arg))
		m.pushv(of(ir.I64, ir.FBits, m.l.freg(n, ir.F64), ir.None))
	case debuginfo.OpSToF:
		m.pushv(of(ir.I64, ir.FBits, of(class, ir.SToF, m.popv(), ir.None), ir.None))
	case debuginfo.OpUToF:
		m.pushv(of(ir.I64, ir.FBits, of(class, ir.UToF, m.popv(), ir.None), ir.None))
	case debuginfo.OpFToS:
		m.pushv(of(ir.I64, ir.FToS, number(class), ir.None))
	case debuginfo.OpFToF:
		m.pushv(of(ir.I64, ir.FBits, of(class, ir.FToF, number(floatClass(12-op.Arg)), ir.None), ir.None))
	default:
		y := number(class)
		x := number(class)
		rule := floatLocationOps[op.Code]
		if rule.swap {
			x, y = y, x
		}
		if v := of(rule.class(class), rule.op, x, y); rule.compare {
			m.pushv(v)
		} else {
			m.pushv(of(ir.I64, ir.FBits, v, ir.None))
		}
	}
}

// floatRule is the operation of two numbers in floating point.
type floatRule struct {
	op            ir.Op
	compare, swap bool
}

// class is that of the result.
func (r floatRule) class(operands ir.Class) ir.Class {
	if r.compare {
		return ir.I64
	}
	return operands
}

var floatLocationOps = map[debuginfo.OpCode]floatRule{
	debuginfo.OpFAdd: {op: ir.FAdd}, debuginfo.OpFSub: {op: ir.FSub}, debuginfo.OpFMul: {op: ir.FMul}, debuginfo.OpFDiv: {op: ir.FDiv},
	debuginfo.OpFEq: {ir.FEq, true, false}, debuginfo.OpFNe: {ir.FNe, true, false}, debuginfo.OpFLt: {ir.FLt, true, false},
	debuginfo.OpFLe: {ir.FLe, true, false}, debuginfo.OpFGt: {ir.FLt, true, true}, debuginfo.OpFGe: {ir.FLe, true, true},
}
