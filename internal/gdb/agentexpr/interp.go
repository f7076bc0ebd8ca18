package agentexpr

import (
	"bytes"
	"encoding/binary"
)

// Memory is the traced program's memory; as eval.Memory.
type Memory interface {
	// Read copies the bytes from addr on into buf up to the first byte that
	// cannot be read, and returns how many it copied.
	Read(addr uint64, buf []byte) int
}

// Machine is the state at the site for the interpreter. Vars is changed by it.
type Machine struct {
	Regs [64]uint64 // by GDB's number: those that expressions can use
	// Register gives the bytes of the other registers for R actions; nil: it is not
	// collected. A nil function: none is.
	Register func(number int) []byte
	Mem      Memory // nil: nothing can be read
	Vars     map[int]uint64
	// Predefined gives the variables that are not in Vars; ok is false for one that has no
	// value here. Nil: there are none.
	Predefined func(number int) (v uint64, ok bool)
	// Limits are those of what a hit collects.
	Limits Limits
}

// variable is the value of one; false where a predefined one has none. Those that GDB has
// not defined are 0.
func (m *Machine) variable(number int) (v uint64, ok bool) {
	if v, ok = m.Vars[number]; !ok && m.Predefined != nil {
		return m.Predefined(number)
	}
	return v, true
}

// Result is what interpreting an expression leaves.
type Result struct {
	Stack  []uint64
	Blocks []Block
	Fail   *Failure // nil: an end was reached
	Steps  int      // instructions executed
}

// Top is the value on top of the stack; false when it is empty.
func (r *Result) Top() (uint64, bool) {
	if len(r.Stack) == 0 {
		return 0, false
	}
	return r.Stack[len(r.Stack)-1], true
}

// Run interprets e. It is the reference: written to be read, not to be fast.
func (e *Expr) Run(m *Machine) Result {
	r := &interp{e: e, m: m, lim: m.Limits.withDefaults()}
	for r.at = 0; r.at >= 0; {
		in := &e.Insns[r.at]
		r.at++
		r.out.Steps++
		if f := runs[in.Op](r, in); f != nil {
			f.PC = in.PC
			r.out.Fail = f
			break
		}
	}
	return r.out
}

type interp struct {
	e   *Expr
	m   *Machine
	lim Limits
	at  int // index of the next instruction; -1: it is over
	out Result
}

func (r *interp) pop() uint64 {
	last := len(r.out.Stack) - 1
	v := r.out.Stack[last]
	r.out.Stack = r.out.Stack[:last]
	return v
}

func (r *interp) push(v uint64) { r.out.Stack = append(r.out.Stack, v) }

// read reads n bytes; memory does not go on at 0 behind its last byte.
func (r *interp) read(addr, n uint64) ([]byte, *Failure) {
	b := r.some(addr, n)
	if uint64(len(b)) < n {
		return nil, &Failure{Kind: BadMemory, Addr: addr}
	}
	return b, nil
}

// some reads what is readable of n bytes.
func (r *interp) some(addr, n uint64) []byte {
	if left := -addr; left != 0 && n > left {
		n = left
	}
	if r.m.Mem == nil || n == 0 {
		return nil
	}
	b := make([]byte, n)
	return b[:r.m.Mem.Read(addr, b)]
}

func (r *interp) block(in *Insn, b Block) {
	b.PC = in.PC
	r.out.Blocks = append(r.out.Blocks, b)
}

// memory collects n bytes at addr.
func (r *interp) memory(in *Insn, addr, n uint64) *Failure {
	truncated := false
	if in.Op == OpTrace && n > uint64(r.lim.Block) {
		if _, known := r.e.sizeBefore(r.at - 1); !known {
			n, truncated = uint64(r.lim.Block), true
		}
	}
	b, f := r.read(addr, n)
	if f == nil {
		r.block(in, Block{Addr: addr, Data: b, Truncated: truncated})
	}
	return f
}

// text reads a string of at most n bytes with its NUL.
func (r *interp) text(addr, n uint64) (b []byte, cut, ok bool) {
	b = r.some(addr, n)
	if nul := bytes.IndexByte(b, 0); nul >= 0 {
		return b[:nul+1], false, true
	}
	return b, uint64(len(b)) < n, len(b) > 0 || n == 0
}

// binaries are the operations on two numbers, a below b.
var binaries = map[Op]func(a, b uint64) uint64{
	OpAdd:         func(a, b uint64) uint64 { return a + b },
	OpSub:         func(a, b uint64) uint64 { return a - b },
	OpMul:         func(a, b uint64) uint64 { return a * b },
	OpLsh:         func(a, b uint64) uint64 { return a << (b & 63) }, // as the processor counts
	OpRshSigned:   func(a, b uint64) uint64 { return uint64(int64(a) >> (b & 63)) },
	OpRshUnsigned: func(a, b uint64) uint64 { return a >> (b & 63) },
	OpBitAnd:      func(a, b uint64) uint64 { return a & b },
	OpBitOr:       func(a, b uint64) uint64 { return a | b },
	OpBitXor:      func(a, b uint64) uint64 { return a ^ b },
	OpEqual:       func(a, b uint64) uint64 { return truth(a == b) },
	OpLessSigned:  func(a, b uint64) uint64 { return truth(int64(a) < int64(b)) },
	OpLessUnsigned: func(a, b uint64) uint64 {
		return truth(a < b)
	},
}

// divisions have b != 0; MIN / -1 wraps.
var divisions = map[Op]func(a, b uint64) uint64{
	OpDivSigned:   func(a, b uint64) uint64 { return uint64(int64(a) / int64(b)) },
	OpDivUnsigned: func(a, b uint64) uint64 { return a / b },
	OpRemSigned:   func(a, b uint64) uint64 { return uint64(int64(a) % int64(b)) },
	OpRemUnsigned: func(a, b uint64) uint64 { return a % b },
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// runs execute the operations that Validate accepts.
var runs = map[Op]func(r *interp, in *Insn) *Failure{
	OpLogNot: func(r *interp, _ *Insn) *Failure { r.push(truth(r.pop() == 0)); return nil },
	OpBitNot: func(r *interp, _ *Insn) *Failure { r.push(^r.pop()); return nil },
	OpExt: func(r *interp, in *Insn) *Failure {
		n := 64 - in.Arg
		r.push(uint64(int64(r.pop()<<n) >> n))
		return nil
	},
	OpZeroExt: func(r *interp, in *Insn) *Failure {
		n := 64 - in.Arg
		r.push(r.pop() << n >> n)
		return nil
	},
	OpReg:  func(r *interp, in *Insn) *Failure { r.push(r.m.Regs[in.Arg]); return nil },
	OpDup:  func(r *interp, _ *Insn) *Failure { v := r.pop(); r.push(v); r.push(v); return nil },
	OpPop:  func(r *interp, _ *Insn) *Failure { r.pop(); return nil },
	OpSwap: func(r *interp, _ *Insn) *Failure { b, a := r.pop(), r.pop(); r.push(b); r.push(a); return nil },
	OpRot: func(r *interp, _ *Insn) *Failure {
		c, b, a := r.pop(), r.pop(), r.pop()
		r.push(c)
		r.push(a)
		r.push(b)
		return nil
	},
	OpPick: func(r *interp, in *Insn) *Failure {
		r.push(r.out.Stack[len(r.out.Stack)-1-int(in.Arg)])
		return nil
	},
	OpEnd:  func(r *interp, _ *Insn) *Failure { r.at = -1; return nil },
	OpGoto: func(r *interp, in *Insn) *Failure { r.at = r.e.at[int(in.Arg)]; return nil },
	OpIfGoto: func(r *interp, in *Insn) *Failure {
		if r.pop() != 0 {
			r.at = r.e.at[int(in.Arg)]
		}
		return nil
	},
	OpGetv: func(r *interp, in *Insn) *Failure {
		v, ok := r.m.variable(int(in.Arg))
		if !ok {
			return &Failure{Kind: NoValue}
		}
		r.push(v)
		return nil
	},
	OpSetv: func(r *interp, in *Insn) *Failure {
		r.m.Vars[int(in.Arg)] = r.out.Stack[len(r.out.Stack)-1]
		return nil
	},
	OpTracev: func(r *interp, in *Insn) *Failure {
		v, ok := r.m.variable(int(in.Arg))
		if !ok {
			return &Failure{Kind: NoValue}
		}
		r.block(in, Block{Kind: VarBlock, Var: int(in.Arg), Value: v})
		return nil
	},
	OpTrace: func(r *interp, in *Insn) *Failure {
		n := r.pop()
		return r.memory(in, r.pop(), n)
	},
	OpTraceQuick: traceTop,
	OpTrace16:    traceTop,
	OpTracenz: func(r *interp, in *Insn) *Failure {
		n := r.pop()
		addr := r.pop()
		b, cut, ok := r.text(addr, n)
		if !ok {
			return &Failure{Kind: BadMemory, Addr: addr}
		}
		r.block(in, Block{Addr: addr, Data: b, Cut: cut})
		return nil
	},
	OpPrintf: (*interp).printf,
}

func traceTop(r *interp, in *Insn) *Failure {
	return r.memory(in, r.out.Stack[len(r.out.Stack)-1], in.Arg)
}

// printf takes function and channel, which are GDB's business, and the arguments,
// the first on top.
func (r *interp) printf(in *Insn) *Failure {
	r.pop()
	r.pop()
	p := &Printed{Format: in.Format, Strings: map[int]string{}}
	isString := stringArgs(in.Format)
	for n := range in.Args {
		v := r.pop()
		p.Args = append(p.Args, v)
		if !isString[n] {
			continue
		}
		if b, _, ok := r.text(v, uint64(r.lim.String)); ok {
			p.Strings[n] = string(bytes.TrimSuffix(b, []byte{0}))
		}
	}
	r.block(in, Block{Kind: PrintBlock, Printed: p})
	return nil
}

// In init because the functions of families are made here.
func init() {
	for op, f := range binaries {
		runs[op] = func(r *interp, _ *Insn) *Failure {
			b, a := r.pop(), r.pop()
			r.push(f(a, b))
			return nil
		}
	}
	for op, f := range divisions {
		runs[op] = func(r *interp, _ *Insn) *Failure {
			b, a := r.pop(), r.pop()
			if b == 0 {
				return &Failure{Kind: DivideByZero}
			}
			r.push(f(a, b))
			return nil
		}
	}
	for op, n := range refs {
		runs[op] = func(r *interp, _ *Insn) *Failure {
			b, f := r.read(r.pop(), uint64(n))
			if f == nil {
				r.push(little(b))
			}
			return f
		}
	}
	for _, op := range []Op{OpConst8, OpConst16, OpConst32, OpConst64} {
		runs[op] = func(r *interp, in *Insn) *Failure { r.push(in.Arg); return nil }
	}
}

// refs are the loads and how many bytes they read.
var refs = map[Op]uint8{OpRef8: 1, OpRef16: 2, OpRef32: 4, OpRef64: 8}

func little(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// Outcome is what interpreting a tracepoint leaves.
type Outcome struct {
	CondFail *Failure // the condition could not be evaluated: taken as false
	Frame    *Frame   // nil: the condition was false, or failed
	Steps    int
}

// Run interprets the tracepoint.
func (s *Site) Run(m *Machine) Outcome {
	var out Outcome
	if s.Cond != nil {
		r := s.Cond.Run(m)
		out.Steps += r.Steps
		if v, _ := r.Top(); r.Fail != nil || v == 0 {
			out.CondFail = r.Fail
			return out
		}
	}
	out.Frame = &Frame{}
	for k := range s.Actions {
		out.Steps += s.Actions[k].run(m, k, out.Frame)
	}
	return out
}

func (a *Action) run(m *Machine, k int, f *Frame) int {
	switch a.Kind {
	case CollectRegs:
		for _, n := range a.Regs {
			if b := m.register(n); b != nil {
				f.Regs = append(f.Regs, RegValue{n, b})
			}
		}
		return 0
	case CollectMemory:
		addr := uint64(a.Offset)
		if a.Base >= 0 {
			addr += m.Regs[a.Base]
		}
		r := &interp{m: m}
		b, fail := r.read(addr, uint64(a.Len))
		if fail != nil {
			fail.Action = k
			f.Failures = append(f.Failures, *fail)
			return 0
		}
		f.Blocks = append(f.Blocks, Block{Action: k, Addr: addr, Data: b})
		return 0
	case Evaluate:
		r := a.Expr.Run(m)
		for _, b := range r.Blocks {
			b.Action = k
			f.Blocks = append(f.Blocks, b)
		}
		if r.Fail != nil {
			r.Fail.Action = k
			f.Failures = append(f.Failures, *r.Fail)
		} else if v, ok := r.Top(); ok && a.Value {
			f.Blocks = append(f.Blocks, Block{Kind: ValueBlock, Action: k, PC: len(a.Expr.Code), Value: v})
		}
		return r.Steps
	}
	return 0
}

// register gives the bytes of a register; nil when it is not collected.
func (m *Machine) register(n int) []byte {
	if scalar(uint64(n)) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], m.Regs[n])
		return b[:Registers[n].Size]
	}
	if m.Register == nil {
		return nil
	}
	return m.Register(n)
}
