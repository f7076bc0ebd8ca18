package process

import (
	"encoding/binary"
	"math/bits"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// Most breakpoints are at the beginning of a function or on a jump of jalon's. The instructions found there
// are executed here, on the thread's registers. Otherwise all threads would have to stop while this one steps
// over the breakpoint.

// emulate executes the instruction that code begins with. store writes a word to memory. If ok is false
// nothing has happened: the instruction is not one of the few that are known here.
func emulate(code []byte, r *Regs, store func(addr, v uint64) bool) (ok bool) {
	if r.Eflags&sys.TrapFlag != 0 {
		return false // the program single-steps itself
	}
	in, err := patch.Decode(code, r.PC())
	if err != nil {
		return false
	}
	next := in.Next()
	switch {
	case in.Class == patch.Nop, in.Endbr():
	case in.Class == patch.Jmp:
		next = in.Target
	case !emulateOne(&in, r, store):
		return false
	}
	r.SetPC(next)
	return true
}

// emulateOne executes an instruction that is not a branch.
func emulateOne(in *patch.Inst, r *Regs, store func(addr, v uint64) bool) bool {
	op, rex, modrm, ok := in.Plain()
	switch {
	case !ok:
		return false
	case op&0xf8 == 0x50:
		return emulatePush(r, gpr(r, op&7, rex&rexB), store)
	case op&0xf8 == 0xb8 && rex&rexW == 0:
		*gpr(r, op&7, rex&rexB) = uint64(uint32(immediate(in, 4)))
		return true
	case modrm>>6 == 3:
		return emulateRegs(in, r, op, rex, modrm)
	}
	return false
}

// immediate is the number of n bytes, 1 or 4, at the end of an instruction.
func immediate(in *patch.Inst, n int) int64 {
	b := in.Bytes()
	if b = b[len(b)-n:]; n == 1 {
		return int64(int8(b[0]))
	}
	return int64(int32(binary.LittleEndian.Uint32(b)))
}

// Bits of a REX prefix.
const (
	rexB = 1
	rexR = 4
	rexW = 8
)

// emulatePush pushes a register. The word must lie in the page that rsp points
// into: below it may be a guard page, or one that the stack is to grow by.
func emulatePush(r *Regs, from *uint64, store func(addr, v uint64) bool) bool {
	sp := r.Rsp - 8
	if sp/memory.PageSize != r.Rsp/memory.PageSize || !store(sp, *from) {
		return false
	}
	r.Rsp = sp
	return true
}

// emulateRegs executes an instruction of registers and immediate numbers.
func emulateRegs(in *patch.Inst, r *Regs, op, rex, modrm byte) bool {
	rm, reg := gpr(r, modrm&7, rex&rexB), gpr(r, modrm>>3&7, rex&rexR)
	wide := rex&rexW != 0
	switch {
	case op == 0x89: // mov reg, rm
		if *rm = *reg; !wide {
			*rm = uint64(uint32(*reg))
		}
	case op == 0x31 && rm == reg: // xor: zero
		*rm = 0
		r.Eflags = r.Eflags&^statusFlags | flagZ | flagP
	case op == 0x83 && modrm>>3&7 == 5 && wide: // sub $imm8, rm
		*rm = subtract(r, *rm, uint64(immediate(in, 1)))
	case op == 0x81 && modrm>>3&7 == 5 && wide:
		*rm = subtract(r, *rm, uint64(immediate(in, 4)))
	default:
		return false
	}
	return true
}

// Status flags.
const (
	flagC = 1 << 0
	flagP = 1 << 2
	flagA = 1 << 4
	flagZ = 1 << 6
	flagS = 1 << 7
	flagO = 1 << 11

	statusFlags = flagC | flagP | flagA | flagZ | flagS | flagO
)

func subtract(r *Regs, a, b uint64) uint64 {
	d, borrow := bits.Sub64(a, b, 0)
	flags := borrow * flagC
	if bits.OnesCount8(uint8(d))%2 == 0 {
		flags |= flagP
	}
	flags |= (a ^ b ^ d) & flagA
	if d == 0 {
		flags |= flagZ
	}
	flags |= d >> 63 * flagS
	flags |= ((a ^ b) & (a ^ d)) >> 63 * flagO
	r.Eflags = r.Eflags&^statusFlags | flags
	return d
}

// gpr is the register of a number: three bits of an instruction, and one of REX.
func gpr(r *Regs, n, high byte) *uint64 {
	if high != 0 {
		n += 8
	}
	return r.Word(gprWords[n])
}

// gprWords are where the general registers are in Regs, by hardware number.
var gprWords = func() (at [amd64.NumGPR]int) {
	for n := range at {
		at[n] = amd64.Processor.Register(amd64.Reg(n).DWARF()).Ptrace
	}
	return at
}()

// emulateAt executes the instruction below a breakpoint for a thread there.
func (p *breakpoints) emulateAt(t *task, regs *Regs, addr uint64) bool {
	for _, w := range p.ctl.machine.Watches {
		if w.On {
			return false // the CPU must see what is accessed
		}
	}
	var code [11]byte
	if p.space.Read(addr, code[:]) != nil {
		return false
	}
	next := *regs
	ok := emulate(code[:], &next, func(at, v uint64) bool {
		return p.space.Write(at, binary.LittleEndian.AppendUint64(nil, v)) == nil
	})
	if !ok || sys.SetRegs(t.TID, &next) != nil {
		return false
	}
	*regs = next
	return true
}
