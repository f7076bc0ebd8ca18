package dwarf

import (
	"bytes"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// The end of a function with a frame pointer releases the frame (lea -0x28(%rbp),%rsp) before it pops the registers that
// it has saved. Up to the last one, %rbp, call frame information and locations count from %rbp, although what they lead
// to is below the stack pointer by then. Between registers that are popped the distance of both is known:
//
//	lea -0x10(%rbp),%rsp
//	pop %rbx              rsp = rbp - 16
//	pop %r12              rsp = rbp - 8
//	pop %rbp              rsp = rbp
//	ret

const (
	mostPopping = 64 // bytes of code that are decoded
	stackReg    = 4  // the numbers of rsp and rbp in instructions
	frameReg    = 5

	rbx            = 3    // DWARF's number; LLVM's compilers use it beside rbp where the frame is aligned and has no constant size
	byFramePointer = 0x76 // DW_OP_breg6
)

var leave = []byte{0xc9} // removes the frame

// popping returns how far the stack pointer is below the frame pointer at pc, if only registers are popped and
// computed from there up to the pop of the frame pointer.
func (cf *callFrames) popping(pc uint64, cfa []debuginfo.Op) (below int64, ok bool) {
	if host.Processor.Name != "amd64" || len(cfa) == 0 || cfa[0].Code != debuginfo.OpReg || cfa[0].Arg != int64(host.Processor.FP) {
		return 0, false
	}
	return pops(cf.file.ReadVaddr(pc, mostPopping))
}

// pops counts the bytes that are popped before the frame pointer.
func pops(code []byte) (n int64, ok bool) {
	for len(code) > 2 {
		i := 0
		rex := byte(0)
		if code[0]&0xf0 == 0x40 {
			rex, i = code[0], 1
		}
		op := code[i]
		if op&0xf8 != 0x58 {
			size := computes(code, rex, i)
			if size == 0 || size > len(code) {
				return 0, false
			}
			code = code[size:]
			continue
		}
		switch reg := op&7 | rex&1<<3; reg {
		case frameReg:
			return n, true
		case stackReg:
			return 0, false
		}
		n += 8
		code = code[i+1:]
	}
	return 0, false
}

// computes is the size of an instruction that changes one register, neither the stack pointer nor the frame pointer;
// 0 if it is not known to be one. i is the offset of its operation.
func computes(code []byte, rex byte, i int) int {
	op := int(code[i])
	if op == 0x0f {
		op = 0x0f00 | int(code[i+1])
		i++
	}
	if op&0xf8 == 0xb8 { // mov of a constant
		if reg := byte(op)&7 | rex&1<<3; reg == stackReg || reg == frameReg || rex&8 != 0 {
			return 0
		}
		return i + 5
	}
	if len(code) < i+7 {
		return 0
	}
	mod := code[i+1]
	reg, rm := mod>>3&7|rex&4<<1, mod&7|rex&1<<3
	size := 0
	switch op {
	case 0x01, 0x09, 0x21, 0x29, 0x31, 0x89: // the operand behind is changed
		if mod>>6 != 3 {
			return 0
		}
		reg, size = rm, i+2
	case 0x03, 0x0b, 0x23, 0x2b, 0x33, 0x63, 0x8b, 0x8d, 0x0faf, 0x0fb6, 0x0fb7, 0x0fbe, 0x0fbf:
		size = i + 1 + operandSize(code[i+1:])
	default:
		return 0
	}
	if reg == stackReg || reg == frameReg {
		return 0
	}
	return size
}

// operandSize is the size of ModRM, SIB and displacement.
func operandSize(b []byte) int {
	size, mod, rm := 1, b[0]>>6, b[0]&7
	if mod == 3 {
		return size
	}
	base := rm
	if rm == 4 {
		size, base = 2, b[1]&7
	}
	switch {
	case mod == 1:
		return size + 1
	case mod == 2 || base == 5:
		return size + 4
	}
	return size
}

// fromStack is a frame address by the frame pointer, counted from the stack pointer instead.
func fromStack(ops []debuginfo.Op, below int64) []debuginfo.Op {
	out := []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(host.Processor.SP)}, {Code: debuginfo.OpAddConst, Arg: below}}
	return append(out, ops[1:]...)
}

// byFrame finishes locations that count from the frame pointer, or from the second register that points to an aligned
// frame. Compilers describe many so for the whole function; the registers have these values between the code that makes
// the frame and that which removes it.
func (lo *locations) byFrame(pieces []debuginfo.Piece) (why string) {
	if host.Processor.Name != "amd64" || len(lo.cfa) == 0 || lo.f == nil {
		return ""
	}
	for i := range pieces {
		p := &pieces[i]
		if p.Kind == debuginfo.InRegister || len(p.Expr) == 0 || p.Expr[0].Code != debuginfo.OpReg {
			continue
		}
		switch p.Expr[0].Arg {
		case int64(host.Processor.FP):
			if !lo.framed() {
				return noFrame
			}
			if lo.ending && !slices.ContainsFunc(p.Expr, jumps) {
				p.Expr = fromStack(p.Expr, lo.below)
			}
		case rbx:
			if made := lo.baseMade(); made != 0 && (!lo.framed() || lo.pc < made || lo.ending) {
				return noFrame
			}
		}
	}
	return ""
}

// jumps: the operation has the number of another one, which must not move. Such are the values that callers pass.
func jumps(op debuginfo.Op) bool { return op.Code == debuginfo.OpBra || op.Code == debuginfo.OpSkip }

// framed reports whether the frame pointer, in a function that has one, has its value at pc.
func (lo *locations) framed() bool {
	if lo.ending || lo.cfa[0].Code == debuginfo.OpReg && lo.cfa[0].Arg == int64(host.Processor.FP) {
		return true
	}
	e := lo.m.frames().Find(lo.pc)
	if e == nil || bytes.HasPrefix(lo.m.file.ReadVaddr(lo.pc, 1), leave) {
		return true
	}
	points := false
	err := e.Rows(func(r *frame.Row) {
		points = points || r.CFAReg == int(host.Processor.FP) || len(r.CFAExpr) > 0 && r.CFAExpr[0] == byFramePointer
	})
	return err != nil || !points
}

// baseMade is the address behind the instruction that sets the second register (mov %rsp,%rbx, behind one that aligns the
// stack); 0 if the function has none.
func (lo *locations) baseMade() uint64 {
	entry := lo.f.entry()
	code := lo.m.file.ReadVaddr(entry, mostPopping)
	aligned := false
	for i := 0; i+3 <= len(code); i++ {
		aligned = aligned || code[i] == 0x48 && (code[i+1] == 0x83 || code[i+1] == 0x81) && code[i+2] == 0xe4
		if aligned && code[i] == 0x48 && code[i+1] == 0x89 && code[i+2] == 0xe3 {
			return entry + uint64(i+3)
		}
	}
	return 0
}
