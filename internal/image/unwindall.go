package image

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	cfi "github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// maxColumns is more than any processor's FrameColumns.
const maxColumns = 33

// frame is the state of unwinding: registers by DWARF number.
type frame struct {
	reg   [maxColumns]uint64
	known [maxColumns]bool
}

// Registers by DWARF number.
var (
	regPC = int(host.Processor.PC)
	regSP = int(host.Processor.SP)
	regFP = int(host.Processor.FP)
)

// preserved are the registers that functions restore.
var preserved = func() (is [maxColumns]bool) {
	for _, r := range host.Processor.Saved {
		is[r] = true
	}
	return is
}()

// returnRegister: the innermost function may have nothing on the stack.
var returnRegister = host.Processor.Link != arch.NoReg

// snapshot is the memory that unwinding may read: the copied stack.
type snapshot struct {
	sp    uint64
	stack []byte
	// module is the file at an address and how far from its own addresses it lies.
	module func(addr uint64) (*dwarf.Module, uint64)
}

func (sn *snapshot) word(addr uint64) (uint64, bool) {
	off := addr - sn.sp
	if off > uint64(len(sn.stack)) || uint64(len(sn.stack))-off < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(sn.stack[off:]), true
}

// unwindAll walks a recorded stack by the call frame information in full: for stacks in which a frame needs
// more than the compact tables have. regs are the registers in the order of arch.Processor.Dump, 8 bytes each;
// stack is the copy of the memory from the stack pointer on; module gives the file at an address and how far it
// lies from its own addresses. It appends to pcs, up to its capacity; the first is that of the registers.
func unwindAll(regs, stack []byte, module func(addr uint64) (*dwarf.Module, uint64), pcs []uint64) ([]uint64, unwind.End) {
	var f frame
	for i, n := range host.Processor.Dump {
		if n < host.Processor.FrameColumns {
			f.reg[n], f.known[n] = binary.LittleEndian.Uint64(regs[8*i:]), true
		}
	}
	sn := &snapshot{f.reg[regSP], stack, module}
	pcs = append(pcs, f.reg[regPC])
	exact := true // the pc is that of the next instruction, not after a call
	for {
		next, signal, end := step(&f, sn, exact)
		switch {
		case end != unwind.Whole:
			return pcs, end
		case !next.known[regPC] || next.reg[regPC] == 0:
			return pcs, unwind.Whole
		case next.reg[regSP] < f.reg[regSP] && !signal, next.reg[regSP] == f.reg[regSP] && !signal && !(exact && returnRegister):
			return pcs, unwind.Damaged
		case len(pcs) == cap(pcs):
			return pcs, unwind.Deep
		}
		f, exact = next, signal
		pcs = append(pcs, f.reg[regPC])
	}
}

// step unwinds one frame. A caller without a pc is that of the outermost frame.
func step(f *frame, sn *snapshot, exact bool) (next frame, signal bool, end unwind.End) {
	pc := f.reg[regPC]
	if !exact {
		pc--
	}
	m, bias := sn.module(pc)
	if m == nil {
		return next, false, unwind.Unknown
	}
	rule, err := m.Unwind(pc - bias)
	if err != nil || rule.CFA == nil {
		return next, false, unwind.Unknown
	}
	cfa, ok := evalOps(rule.CFA, f, sn, bias, nil)
	if !ok {
		return next, false, unwind.Unreadable
	}
	next = *f
	for n := range next.known {
		r, has := rule.Regs[n]
		if !has {
			next.known[n] = f.known[n] && preserved[n]
			continue
		}
		next.reg[n], next.known[n] = recover1(&r, n, cfa, f, sn, bias)
		if n == regPC && !next.known[n] && r.Kind != cfi.Undefined {
			return next, false, unwind.Unreadable
		}
	}
	if _, has := rule.Regs[regSP]; !has {
		next.reg[regSP], next.known[regSP] = cfa, true
	}
	if rule.RA != regPC {
		return next, rule.Signal, next.returnsTo(rule, f, exact)
	}
	return next, rule.Signal, unwind.Whole
}

// returnsTo sets the pc of a caller where the return address has a register (arm64's x30), which a call sets and functions do not restore:
// without a rule it is in that register still, in the innermost function only.
func (next *frame) returnsTo(rule *cfi.Rule, callee *frame, exact bool) unwind.End {
	if rule.Signal {
		return unwind.Unknown // arm64's tables give the link register of the interrupted code, not where it was
	}
	r, has := rule.Regs[rule.RA]
	ra, known := next.reg[rule.RA], next.known[rule.RA]
	switch {
	case has && r.Kind == cfi.Undefined:
		known = false
	case !has || r.Kind == cfi.SameValue:
		if !exact {
			return unwind.Damaged
		}
		ra, known = callee.reg[rule.RA], callee.known[rule.RA]
	case !known:
		return unwind.Unreadable
	}
	next.reg[regPC], next.known[regPC] = ra&host.Processor.CodeAddress(), known
	next.known[rule.RA] = false
	return unwind.Whole
}

// recover1 applies one register's rule.
func recover1(r *cfi.RegRule, n int, cfa uint64, f *frame, sn *snapshot, bias uint64) (uint64, bool) {
	switch r.Kind {
	case cfi.SameValue:
		return f.reg[n], f.known[n]
	case cfi.AtCFA:
		return sn.word(cfa + uint64(r.Offset))
	case cfi.IsCFA:
		return cfa + uint64(r.Offset), true
	case cfi.InOther:
		if r.Reg < 0 || r.Reg >= len(f.reg) {
			return 0, false
		}
		return f.reg[r.Reg], f.known[r.Reg]
	case cfi.AtExpr, cfi.IsExpr:
		v, ok := evalOps(r.Expr, f, sn, bias, &cfa)
		if !ok || r.Kind == cfi.IsExpr {
			return v, ok
		}
		return sn.word(v)
	}
	return 0, false
}

// evalOps runs a location expression over a frame; initial is pushed first
// (the CFA, for the rules of registers).
func evalOps(ops []debuginfo.Op, f *frame, sn *snapshot, bias uint64, initial *uint64) (uint64, bool) {
	var st []uint64
	if initial != nil {
		st = append(st, *initial)
	}
	for _, op := range ops {
		switch op.Code {
		case debuginfo.OpConst:
			st = append(st, uint64(op.Arg))
			continue
		case debuginfo.OpAddr:
			st = append(st, uint64(op.Arg)+bias)
			continue
		case debuginfo.OpReg:
			if op.Arg < 0 || op.Arg >= int64(len(f.reg)) || !f.known[op.Arg] {
				return 0, false
			}
			st = append(st, f.reg[op.Arg])
			continue
		}
		if len(st) == 0 {
			return 0, false
		}
		top := &st[len(st)-1]
		switch op.Code {
		case debuginfo.OpAddConst:
			*top += uint64(op.Arg)
			continue
		case debuginfo.OpDeref:
			v, ok := sn.word(*top)
			if !ok || op.Arg != 8 {
				return 0, false
			}
			*top = v
			continue
		case debuginfo.OpDup:
			st = append(st, *top)
			continue
		}
		fn := binary2[op.Code]
		if fn == nil || len(st) < 2 {
			return 0, false
		}
		st[len(st)-2] = fn(st[len(st)-2], *top)
		st = st[:len(st)-1]
	}
	if len(st) == 0 {
		return 0, false
	}
	return st[len(st)-1], true
}

// binary2 are the two-operand operations that call frame information uses (the
// procedure linkage table's rule needs and, ge, shl, plus).
var binary2 = map[debuginfo.OpCode]func(a, b uint64) uint64{
	debuginfo.OpAdd: func(a, b uint64) uint64 { return a + b },
	debuginfo.OpSub: func(a, b uint64) uint64 { return a - b },
	debuginfo.OpMul: func(a, b uint64) uint64 { return a * b },
	debuginfo.OpAnd: func(a, b uint64) uint64 { return a & b },
	debuginfo.OpOr:  func(a, b uint64) uint64 { return a | b },
	debuginfo.OpXor: func(a, b uint64) uint64 { return a ^ b },
	debuginfo.OpShl: func(a, b uint64) uint64 { return a << b },
	debuginfo.OpShr: func(a, b uint64) uint64 { return a >> b },
	debuginfo.OpEq:  func(a, b uint64) uint64 { return truth(a == b) },
	debuginfo.OpNe:  func(a, b uint64) uint64 { return truth(a != b) },
	debuginfo.OpLt:  func(a, b uint64) uint64 { return truth(int64(a) < int64(b)) },
	debuginfo.OpLe:  func(a, b uint64) uint64 { return truth(int64(a) <= int64(b)) },
	debuginfo.OpGt:  func(a, b uint64) uint64 { return truth(int64(a) > int64(b)) },
	debuginfo.OpGe:  func(a, b uint64) uint64 { return truth(int64(a) >= int64(b)) },
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
