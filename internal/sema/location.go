package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
)

// Location expressions are compiled: the stack of the DWARF machine is executed
// here with symbolic entries, and only what remains becomes IR. invalidExpr
// proves beforehand that this cannot fail.

// sym is a stack entry: v + off, or the constant off when v is None.
type sym struct {
	v     ir.Value
	off   int64
	trust trust
}

// trust returns why reading at an address cannot fault: it was computed, without loads, from the frame or
// from the module's own data.
type trust uint8

const (
	noTrust   trust = iota
	inData          // a constant address in the module
	fromSP          // counted from the stack pointer
	fromFP          // counted from the register of the CFA rule
	inContext       // counted from the context block
	inPerCPU        // data of the running CPU
)

// The distances from the frame's registers within which slots are trusted. The
// ABI's red zone ends 128 bytes below the stack pointer (psABI 3.2.2). Larger
// frames exist; their far slots are read with a guard, as is whatever malformed
// debug info makes up.
const (
	frameSpan = 64 << 10
)

// settled is s as the address of an object of size bytes: it keeps its trust
// only if the whole object lies where trust reaches.
func (em *emitter) settled(s sym, size int64) sym {
	lo, hi := int64(-frameSpan), int64(frameSpan)
	switch s.trust {
	case fromSP:
		lo = -processor.RedZone
	case inContext, inPerCPU:
		return s
	case inData:
		if r := em.in.Readable; r != nil && s.isConst() && !r(uint64(s.off)-em.in.Bias, uint64(size)) {
			s.trust = noTrust
		}
		return s
	}
	if s.off < lo || s.off > hi-min(size, hi) {
		s.trust = noTrust
	}
	return s
}

// opEffect returns how many entries an operation pops and pushes.
type opEffect struct{ pops, pushes int }

var opEffects = map[debuginfo.OpCode]opEffect{
	debuginfo.OpConst: {0, 1}, debuginfo.OpAddr: {0, 1}, debuginfo.OpReg: {0, 1}, debuginfo.OpTLS: {1, 1},
	debuginfo.OpDeref: {1, 1}, debuginfo.OpDup: {1, 2}, debuginfo.OpDrop: {1, 0}, debuginfo.OpPick: {0, 1},
	debuginfo.OpSwap: {2, 2}, debuginfo.OpRot: {3, 3},
	debuginfo.OpAbs: {1, 1}, debuginfo.OpNeg: {1, 1}, debuginfo.OpNot: {1, 1},
	debuginfo.OpAnd: {2, 1}, debuginfo.OpOr: {2, 1}, debuginfo.OpXor: {2, 1},
	debuginfo.OpAdd: {2, 1}, debuginfo.OpAddConst: {1, 1}, debuginfo.OpSub: {2, 1}, debuginfo.OpMul: {2, 1},
	debuginfo.OpDiv: {2, 1}, debuginfo.OpMod: {2, 1},
	debuginfo.OpShl: {2, 1}, debuginfo.OpShr: {2, 1}, debuginfo.OpShra: {2, 1},
	debuginfo.OpEq: {2, 1}, debuginfo.OpNe: {2, 1}, debuginfo.OpLt: {2, 1}, debuginfo.OpLe: {2, 1},
	debuginfo.OpGt: {2, 1}, debuginfo.OpGe: {2, 1},
	debuginfo.OpSkip: {0, 0}, debuginfo.OpBra: {1, 0}, debuginfo.OpConvert: {1, 1},
	debuginfo.OpUDiv: {2, 1}, debuginfo.OpSMod: {2, 1}, debuginfo.OpULt: {2, 1}, debuginfo.OpULe: {2, 1},
	debuginfo.OpUGt: {2, 1}, debuginfo.OpUGe: {2, 1},
	debuginfo.OpEnv: {0, 1}, debuginfo.OpNone: {0, 0},
	debuginfo.OpVector: {0, 1}, debuginfo.OpFAdd: {2, 1}, debuginfo.OpFSub: {2, 1}, debuginfo.OpFMul: {2, 1}, debuginfo.OpFDiv: {2, 1},
	debuginfo.OpFEq: {2, 1}, debuginfo.OpFNe: {2, 1}, debuginfo.OpFLt: {2, 1}, debuginfo.OpFLe: {2, 1}, debuginfo.OpFGt: {2, 1}, debuginfo.OpFGe: {2, 1},
	debuginfo.OpSToF: {1, 1}, debuginfo.OpUToF: {1, 1}, debuginfo.OpFToS: {1, 1}, debuginfo.OpFToF: {1, 1},
}

const maxStack = 64

// invalidExpr returns why a location expression cannot be compiled, or "".
func (st *site) invalidExpr(ops []debuginfo.Op) string {
	const malformed = "its location is malformed in the debug information"
	depth := 0
	at := map[int]int{} // depth at the targets of jumps
	for i := 0; i <= len(ops); i++ {
		if d, ok := at[i]; ok {
			if depth >= 0 && d != depth {
				return malformed
			}
			depth = d
		}
		if i == len(ops) {
			break
		}
		if depth < 0 { // behind OpSkip or OpNone: never reached
			continue
		}
		op := ops[i]
		eff, ok := opEffects[op.Code]
		if !ok || depth < eff.pops || depth-eff.pops+eff.pushes > maxStack {
			return malformed
		}
		if why := st.invalidOp(op, depth); why != "" {
			return why
		}
		depth += eff.pushes - eff.pops
		if op.Code == debuginfo.OpSkip || op.Code == debuginfo.OpBra {
			to := int(op.Arg)
			if d, ok := at[to]; int64(to) != op.Arg || to <= i || to > len(ops) || ok && d != depth {
				return malformed
			}
			at[to] = depth
			if op.Code == debuginfo.OpSkip {
				depth = -1
			}
		}
		if op.Code == debuginfo.OpNone {
			depth = -1
		}
	}
	if depth < 1 {
		return malformed
	}
	return ""
}

func (st *site) invalidOp(op debuginfo.Op, depth int) string {
	if op.Code >= debuginfo.OpVector && op.Code <= debuginfo.OpFToF {
		return st.invalidFloat(op)
	}
	switch op.Code {
	case debuginfo.OpReg:
		if !isWord(op.Arg) {
			return fmt.Sprintf("its location needs register %d, which is not available", op.Arg)
		}
		return st.noRegisters()
	case debuginfo.OpEnv:
		if st.in.Kernel == nil && op.Arg != ir.EnvCPU || op.Arg < 0 || op.Arg >= ir.NumEnv {
			return "its location is malformed in the debug information"
		}
	case debuginfo.OpAddr:
		if st.userReturn() {
			return "where its data lie is not known at a function's return"
		}
	case debuginfo.OpPick:
		if op.Arg < 0 || op.Arg >= int64(depth) {
			return "its location is malformed in the debug information"
		}
	case debuginfo.OpDeref, debuginfo.OpConvert:
		switch n := max(op.Arg, -op.Arg); {
		case n != 1 && n != 2 && n != 4 && n != 8, op.Code == debuginfo.OpDeref && op.Arg < 0:
			return "its location is malformed in the debug information"
		}
	case debuginfo.OpTLS:
		if st.in.TLSOffset == nil {
			return "it is thread-local, and the place of thread-local storage is not known"
		}
		if _, err := st.in.TLSOffset(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// invalidFloat is invalidOp for what is in floating point.
func (st *site) invalidFloat(op debuginfo.Op) string {
	switch {
	case st.in.Kernel != nil:
		return "its value is computed in floating point, which is not available in the kernel"
	case op.Code == debuginfo.OpVector && isXMM(int(op.Arg)), op.Code != debuginfo.OpVector && (op.Arg == 4 || op.Arg == 8):
		return ""
	}
	return "its location is malformed in the debug information"
}

// locator executes one location expression.
type locator struct {
	l      *emitter
	stack  []sym
	object sym                // OpObject
	labels map[int]ir.BlockID // jump targets with their blocks
}

// location compiles ops, which invalidExpr has passed, and gives the top entry.
func (em *emitter) location(ops []debuginfo.Op) sym { return em.locationOf(sym{v: ir.None}, ops) }

// locationOf is location for an expression about the object at an address.
func (em *emitter) locationOf(object sym, ops []debuginfo.Op) sym {
	m := &locator{l: em, labels: map[int]ir.BlockID{}, object: object}
	for i := 0; i <= len(ops); i++ {
		if blk, ok := m.labels[i]; ok {
			m.join(blk)
		}
		if i < len(ops) && !em.b.Terminated() {
			m.step(i, ops[i])
		}
	}
	return m.stack[len(m.stack)-1]
}

// join starts the block of a label; its parameters are the stack.
func (m *locator) join(blk ir.BlockID) {
	b := m.l.b
	if !b.Terminated() {
		b.Jump(blk, m.values()...)
	}
	b.Start(blk)
	n := m.l.params[blk]
	m.stack = m.stack[:0]
	for i := range n {
		m.stack = append(m.stack, sym{v: b.Param(blk, i)})
	}
}

func (m *locator) values() []ir.Value {
	out := make([]ir.Value, len(m.stack))
	for i, s := range m.stack {
		out[i] = m.l.word(s)
	}
	return out
}

func (m *locator) pop() sym {
	s := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return s
}

func (m *locator) push(s sym)       { m.stack = append(m.stack, s) }
func (m *locator) pushv(v ir.Value) { m.push(sym{v: v}) }
func (m *locator) popv() ir.Value   { return m.l.word(m.pop()) }
func (m *locator) top(n int) []sym  { return m.stack[len(m.stack)-n:] }
func constant(v int64) sym          { return sym{v: ir.None, off: v} }
func (s sym) isConst() bool         { return s.v == ir.None }
func (s sym) plus(n int64) sym      { s.off += n; return s }

// word makes one IR value of s.
func (em *emitter) word(s sym) ir.Value {
	switch {
	case s.isConst():
		return em.b.Const(s.off)
	case s.off == 0:
		return s.v
	}
	return em.b.Bin(ir.Add, 8, s.v, em.b.Const(s.off))
}

func (m *locator) step(i int, op debuginfo.Op) {
	l, b := m.l, m.l.b
	switch op.Code {
	case debuginfo.OpConst:
		m.push(constant(op.Arg))
	case debuginfo.OpAddr:
		m.push(l.image(op.Arg))
	case debuginfo.OpEnv:
		m.push(sym{v: l.env(op.Arg)})
	case debuginfo.OpReg:
		m.push(sym{v: l.reg(op.Arg), trust: l.frameReg(op.Arg)})
	case debuginfo.OpTLS:
		off, _ := l.in.TLSOffset() // checked before by invalidOp
		s := m.pop()
		v := b.Bin(ir.Add, 8, l.word(sym{v: s.v, off: s.off}), l.reg(ir.RegThread))
		m.push(sym{v: v, off: off})
	case debuginfo.OpDeref:
		m.pushv(l.loadWord(l.settled(m.pop(), op.Arg), uint8(op.Arg)))
	case debuginfo.OpObject:
		m.push(m.object)
	case debuginfo.OpDup:
		m.push(m.top(1)[0])
	case debuginfo.OpDrop:
		m.pop()
	case debuginfo.OpPick:
		m.push(m.top(int(op.Arg) + 1)[0])
	case debuginfo.OpSwap:
		t := m.top(2)
		t[0], t[1] = t[1], t[0]
	case debuginfo.OpRot:
		t := m.top(3)
		t[0], t[1], t[2] = t[2], t[0], t[1]
	case debuginfo.OpAddConst:
		m.push(m.pop().plus(op.Arg))
	case debuginfo.OpSkip:
		b.Jump(m.label(int(op.Arg)), m.values()...)
	case debuginfo.OpNone:
		why := trapNoValue
		if op.Arg == debuginfo.OtherFrame {
			why = trapOtherFrame
		}
		b.Jump(l.traps.at(l, why))
	case debuginfo.OpBra:
		cond := m.popv()
		taken := ir.Edge{To: m.label(int(op.Arg)), Args: m.values()}
		next := b.NewBlock("location")
		b.BranchTo(cond, taken, ir.Edge{To: next}, false)
		b.Start(next)
	default:
		m.compute(op)
	}
}

// label is the block of a jump target; all jumps to it have the same stack depth.
func (m *locator) label(i int) ir.BlockID {
	blk, ok := m.labels[i]
	if !ok {
		classes := make([]ir.Class, len(m.stack))
		blk = m.l.b.NewBlock("location", classes...)
		m.l.params[blk] = len(classes)
		m.labels[i] = blk
	}
	return blk
}
