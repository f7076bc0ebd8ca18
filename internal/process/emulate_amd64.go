package process

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Breakpoints mostly are at the beginning of functions, or over a jump of our own.
// What is there is done here, on the registers: else all threads would have to stop
// for the thread to step over the breakpoint.

// emulate executes the instruction that code begins with. store writes a word to
// memory. Without ok nothing has happened: it is not one of the few known here.
func emulate(code []byte, r *Regs, store func(addr, v uint64) bool) (ok bool) {
	if r.Eflags&trapFlag != 0 {
		return false // the program single-steps itself
	}
	for _, nop := range nops {
		if strings.HasPrefix(string(code), nop) {
			r.Rip += uint64(len(nop))
			return true
		}
	}
	rex := byte(0)
	op := code
	if len(op) > 0 && op[0]&0xf0 == 0x40 {
		rex, op = op[0], op[1:]
	}
	if len(op) < 6 {
		return false // the longest has opcode, ModRM and 4 bytes
	}
	n := 0
	switch c := op[0]; {
	case c&0xf8 == 0x50:
		n = emulatePush(r, gpr(r, c&7, rex&rexB), store)
	case c&0xf8 == 0xb8 && rex&rexW == 0:
		*gpr(r, c&7, rex&rexB), n = uint64(binary.LittleEndian.Uint32(op[1:])), 5
	case c == 0xe9:
		n = 5 + int(int32(binary.LittleEndian.Uint32(op[1:])))
	case c == 0xeb:
		n = 2 + int(int8(op[1]))
	case op[1]>>6 == 3:
		n = emulateRegs(r, rex, op)
	}
	if n == 0 {
		return false
	}
	r.Rip += uint64(n + len(code) - len(op))
	return true
}

// nops are endbr64 and the forms that assemblers fill up with (Intel SDM vol. 2,
// NOP, table 4-12).
var nops = []string{
	"\xf3\x0f\x1e\xfa", "\x90", "\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00",
	"\x66\x0f\x1f\x44\x00\x00", "\x0f\x1f\x80\x00\x00\x00\x00", "\x0f\x1f\x84\x00\x00\x00\x00\x00",
}

// Bits of a REX prefix.
const (
	rexB = 1
	rexR = 4
	rexW = 8
)

// emulatePush pushes a register. The word must lie in the page that rsp points
// into: below it may be a guard page, or one that the stack is to grow by.
func emulatePush(r *Regs, from *uint64, store func(addr, v uint64) bool) int {
	sp := r.Rsp - 8
	if sp/pageSize != r.Rsp/pageSize || !store(sp, *from) {
		return 0
	}
	r.Rsp = sp
	return 1
}

// emulateRegs executes an instruction of registers and immediate numbers: it gives
// the length without the prefix, 0 for one that is not known.
func emulateRegs(r *Regs, rex byte, op []byte) int {
	rm, reg := gpr(r, op[1]&7, rex&rexB), gpr(r, op[1]>>3&7, rex&rexR)
	wide := rex&rexW != 0
	switch {
	case op[0] == 0x89: // mov reg, rm
		if *rm = *reg; !wide {
			*rm = uint64(uint32(*reg))
		}
		return 2
	case op[0] == 0x31 && rm == reg: // xor: zero
		*rm = 0
		r.Eflags = r.Eflags&^statusFlags | flagZ | flagP
		return 2
	case op[0] == 0x83 && op[1]>>3&7 == 5 && wide: // sub $imm8, rm
		*rm = subtract(r, *rm, uint64(int64(int8(op[2]))))
		return 3
	case op[0] == 0x81 && op[1]>>3&7 == 5 && wide:
		*rm = subtract(r, *rm, uint64(int64(int32(binary.LittleEndian.Uint32(op[2:])))))
		return 6
	}
	return 0
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
	return [...]*uint64{
		&r.Rax, &r.Rcx, &r.Rdx, &r.Rbx, &r.Rsp, &r.Rbp, &r.Rsi, &r.Rdi,
		&r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15,
	}[n]
}

// emulateAt executes the instruction below a breakpoint for a thread there.
func (p *Process) emulateAt(t *task, regs *Regs, addr uint64) bool {
	for _, w := range p.ctl.watches {
		if w.on {
			return false // the CPU must see what is accessed
		}
	}
	var code [11]byte
	if p.space.read(addr, code[:]) != nil {
		return false
	}
	next := *regs
	ok := emulate(code[:], &next, func(at, v uint64) bool {
		return p.space.write(at, binary.LittleEndian.AppendUint64(nil, v)) == nil
	})
	if !ok || setRegs(t.tid, &next) != nil {
		return false
	}
	*regs = next
	return true
}
