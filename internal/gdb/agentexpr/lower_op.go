package agentexpr

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ir"
)

// lowers emit the operations that Validate accepts.
var lowers map[Op]func(l *lowerer, in *Insn)

// binaryIR are the operations on two numbers that the IR has alike.
var binaryIR = map[Op]ir.Op{
	OpAdd: ir.Add, OpSub: ir.Sub, OpMul: ir.Mul,
	OpLsh: ir.Shl, OpRshSigned: ir.Sar, OpRshUnsigned: ir.Shr,
	OpBitAnd: ir.And, OpBitOr: ir.Or, OpBitXor: ir.Xor,
	OpEqual: ir.Eq, OpLessSigned: ir.SLt, OpLessUnsigned: ir.ULt,
}

var divisionIR = map[Op]ir.Op{
	OpDivSigned: ir.SDiv, OpDivUnsigned: ir.UDiv, OpRemSigned: ir.SRem, OpRemUnsigned: ir.URem,
}

func init() {
	lowers = map[Op]func(l *lowerer, in *Insn){
		OpLogNot: func(l *lowerer, _ *Insn) { l.push(l.b.Bin(ir.Eq, 8, l.pop().v, l.b.Const(0))) },
		OpBitNot: func(l *lowerer, _ *Insn) { l.push(l.b.Un(ir.Not, 8, l.pop().v)) },
		OpExt:    func(l *lowerer, in *Insn) { l.extend(in, ir.SExt, ir.Sar) },
		OpZeroExt: func(l *lowerer, in *Insn) {
			l.extend(in, ir.ZExt, ir.Shr)
		},
		OpReg: func(l *lowerer, in *Insn) { l.pushItem(l.readReg(int(in.Arg))) },

		OpDup:  func(l *lowerer, _ *Insn) { l.pushItem(l.top()) },
		OpPop:  func(l *lowerer, _ *Insn) { l.pop() },
		OpPick: func(l *lowerer, in *Insn) { l.pushItem(l.stack[len(l.stack)-1-int(in.Arg)]) },
		OpSwap: func(l *lowerer, _ *Insn) { b, a := l.pop(), l.pop(); l.pushItem(b); l.pushItem(a) },
		OpRot: func(l *lowerer, _ *Insn) {
			c, b, a := l.pop(), l.pop(), l.pop()
			l.pushItem(c)
			l.pushItem(a)
			l.pushItem(b)
		},

		OpEnd:  func(l *lowerer, _ *Insn) { l.end() },
		OpGoto: func(l *lowerer, in *Insn) { l.b.Jump(l.label(int(in.Arg)), l.values()...) },
		OpIfGoto: func(l *lowerer, in *Insn) {
			c, on := l.pop().v, l.b.NewBlock("")
			l.b.BranchTo(c, ir.Edge{To: l.label(int(in.Arg)), Args: l.values()}, ir.Edge{To: on}, false)
			l.b.Start(on)
		},

		OpGetv: (*lowerer).getVar, OpSetv: (*lowerer).setVar, OpTracev: (*lowerer).traceVar,
		OpTrace: (*lowerer).trace, OpTraceQuick: (*lowerer).traceTop, OpTrace16: (*lowerer).traceTop,
		OpTracenz: (*lowerer).traceString, OpPrintf: (*lowerer).printf,
	}
	for op := range binaryIR {
		lowers[op] = (*lowerer).binary
	}
	for op := range divisionIR {
		lowers[op] = (*lowerer).division
	}
	for op, w := range refs {
		lowers[op] = func(l *lowerer, _ *Insn) {
			a := l.pop()
			if k, ok := a.place(); ok && w == 8 {
				if x, ok := l.held[k]; ok {
					l.pushItem(x)
					return
				}
			}
			l.push(l.load(a, w))
		}
	}
	for _, op := range []Op{OpConst8, OpConst16, OpConst32, OpConst64} {
		lowers[op] = func(l *lowerer, in *Insn) { l.pushItem(l.constant(int64(in.Arg))) }
	}
}

func (rc *recorder) constant(k int64) item {
	return item{v: rc.b.Const(k), known: true, base: -1, off: k}
}

func (l *lowerer) load(a item, w uint8) ir.Value {
	return l.b.Load(w, false, a.v, 0, l.guard(a, int64(w)))
}

// binary emits an operation and follows what is known through it.
func (l *lowerer) binary(in *Insn) {
	b, a := l.pop(), l.pop()
	op := binaryIR[in.Op]
	x := item{v: l.b.Bin(op, 8, a.v, b.v)}
	ka, aConst := a.constant()
	kb, bConst := b.constant()
	switch {
	case aConst && bConst:
		k, _ := ir.Compute(op, 8, ir.I64, uint64(ka), uint64(kb))
		x.known, x.base, x.off = true, -1, int64(k)
	case in.Op == OpAdd && bConst:
		x = a.plus(kb, x.v)
	case in.Op == OpAdd && aConst:
		x = b.plus(ka, x.v)
	case in.Op == OpSub && bConst:
		x = a.plus(-kb, x.v)
	}
	l.pushItem(x)
}

// division fails when the divisor is zero.
func (l *lowerer) division(in *Insn) {
	b, a := l.pop(), l.pop()
	if k, ok := b.constant(); !ok || k == 0 {
		on := l.b.NewBlock("")
		zero := l.b.Bin(ir.Eq, 8, b.v, l.b.Const(0))
		to := ir.Edge{To: l.fail(DivideByZero)}
		if l.number < 0 {
			to.Args = []ir.Value{l.b.Const(0)}
		}
		l.b.BranchTo(zero, to, ir.Edge{To: on}, true)
		l.b.Start(on)
	}
	l.push(l.b.Bin(divisionIR[in.Op], 8, a.v, b.v))
}

// extend extends the low bits: by ext where the IR has the width, else by shifts,
// of which the one back is given.
func (l *lowerer) extend(in *Insn, ext, back ir.Op) {
	x := l.pop()
	n := int64(in.Arg)
	if k, ok := x.constant(); ok {
		k <<= 64 - n
		if back == ir.Sar {
			k >>= 64 - n
		} else {
			k = int64(uint64(k) >> (64 - n))
		}
		l.pushItem(l.constant(k))
		return
	}
	switch n {
	case 64:
		l.pushItem(x)
	case 8, 16, 32:
		l.push(l.b.Un(ext, uint8(n/8), x.v))
	default:
		if ext == ir.ZExt {
			l.push(l.b.Bin(ir.And, 8, x.v, l.b.Const(1<<n-1)))
			return
		}
		by := l.b.Const(64 - n)
		l.push(l.b.Bin(back, 8, l.b.Bin(ir.Shl, 8, x.v, by), by))
	}
}

// readReg reads a register by GDB's number.
func (rc *recorder) readReg(n int) item {
	reg := &Registers[n]
	switch {
	case !rc.readable(n):
		rc.refuse("register %s cannot be read here", reg.Name)
	case rc.opt.Registers[n] != nil:
		return item{v: rc.opt.Registers[n](rc.b)}
	case reg.kind == regWord && reg.ir == ir.RegPC && rc.opt.PC != 0:
		return rc.constant(int64(rc.opt.PC))
	case reg.kind == regWord:
		return item{v: rc.b.Reg(reg.ir), known: true, base: reg.ir}
	case rc.opt.PtRegs:
		return item{v: rc.b.Def(ir.I64, ir.Instr{Op: ir.Ctx, W: 8, Imm: reg.ir})}
	}
	return rc.constant(reg.value)
}

// readable reports whether readReg, or a copy, gives register n.
func (rc *recorder) readable(n int) bool {
	if n >= len(Registers) {
		return false
	}
	if rc.opt.Registers[n] != nil {
		return true
	}
	switch reg := &Registers[n]; reg.kind {
	case regWord:
		switch reg.ir {
		case ir.RegPC:
			return rc.opt.PC != 0 || rc.opt.PtRegs || !rc.opt.Kernel
		case ir.RegThread:
			return true
		case int64(amd64.DwarfGSBase):
			return rc.opt.GSBase
		}
		_, inPtRegs := host.Processor.PtRegs(arch.Reg(reg.ir))
		return !rc.opt.Kernel || rc.opt.PtRegs && inPtRegs
	case regVector:
		return !rc.opt.Kernel && (rc.opt.AVX || reg.ir < amd64.UpperYMM || reg.ir == amd64.MXCSR)
	case regX87:
		return !rc.opt.Kernel
	case regContext:
		return rc.opt.PtRegs || !rc.opt.Kernel
	}
	return false
}

func (l *lowerer) variable(n int) Variable {
	if l.opt.Var != nil {
		if v, ok := l.opt.Var(n); ok {
			return v
		}
	}
	l.refuse("there is no trace state variable %d", n)
	return Variable{}
}

// readVar is the value of a variable that is not the time.
func (l *lowerer) readVar(v Variable) ir.Value {
	switch {
	case v.Absent != "":
		l.refuse("%s", v.Absent)
	case v.Read != nil:
		return v.Read(l.b)
	}
	return l.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: v.Index})
}

func (l *lowerer) getVar(in *Insn) {
	v := l.variable(int(in.Arg))
	if !v.Now {
		l.push(l.readVar(v))
		return
	}
	if l.next(OpPop) || l.next(OpTracev) && l.nextBut(1, OpPop) { // it is only collected
		l.pushItem(l.constant(0))
		return
	}
	if !l.opt.Kernel {
		l.refuse("the time of the hit can be collected here, not computed with")
	}
	ns := l.b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: ir.EnvTime})
	if l.opt.Epoch != 0 {
		ns = l.b.Bin(ir.Add, 8, ns, l.b.Const(l.opt.Epoch))
	}
	l.push(l.b.Bin(ir.UDiv, 8, ns, l.b.Const(1000)))
}

// next reports whether the instruction behind the present one is op, and only it
// leads there; nextBut looks n instructions further.
func (l *lowerer) next(op Op) bool { return l.nextBut(0, op) }

func (l *lowerer) nextBut(n int, op Op) bool {
	i := l.at + 1 + n
	return i < len(l.e.Insns) && l.e.Insns[i].Op == op && !l.e.targets[l.e.Insns[i].PC]
}
