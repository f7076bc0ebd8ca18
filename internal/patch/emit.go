package patch

import (
	"encoding/binary"
	"math"
)

// PCPair says where a displaced instruction is now.
type PCPair struct {
	Orig  uint64 // its address in the program
	Entry uint64 // the inserted code before it: where a thread that comes to Orig must go
	Copy  uint64 // the copy itself: where a thread that is at Orig already must go
	End   uint64 // the end of the copy: a pc in [Copy, End) is shown to the program as Orig
}

// Emit returns the part of the trampoline after the jump from the site. For each displaced instruction it
// contains the code that insert returns for its address (the hit programs of the sites there; nil for
// none), then the relocated instruction; then copies of After, as far as they reach what they refer to. At
// the end it jumps back to the code behind (Back). at is the final address of the code. pcs has an entry for each
// displaced instruction, and then for each of After that was copied. insert gets the address of its code; its
// error is returned. The inserted code must fall through at its end. Other errors are *FarError: the trampoline
// must be nearer to the address that an instruction refers to.
func (p *Plan) Emit(at uint64, insert func(addr, at uint64) ([]byte, error)) (code []byte, pcs []PCPair, err error) {
	e := emitter{base: at}
	for i := range p.Insts {
		in := &p.Insts[i]
		pair := PCPair{Orig: in.Addr, Entry: e.pc()}
		if insert != nil {
			add, err := insert(in.Addr, e.pc())
			if err != nil {
				return nil, nil, err
			}
			e.put(add...)
		}
		pair.Copy = e.pc()
		if err := e.relocate(in); err != nil {
			return nil, nil, err
		}
		pair.End = e.pc()
		pcs = append(pcs, pair)
		if in.Class.Leaves() {
			return e.code, pcs, nil
		}
	}
	for i := range p.After {
		in, from := &p.After[i], len(e.code)
		pair := PCPair{Orig: in.Addr, Entry: e.pc(), Copy: e.pc()}
		if e.relocate(in) != nil {
			e.code = e.code[:from]
			break
		}
		pair.End = e.pc()
		pcs = append(pcs, pair)
	}
	if back, ok := p.Back(pcs); ok {
		e.jump(back)
	}
	return e.code, pcs, nil
}

// emitter writes code for the address base.
type emitter struct {
	base uint64
	code []byte
}

func (e *emitter) pc() uint64     { return e.base + uint64(len(e.code)) }
func (e *emitter) put(b ...byte)  { e.code = append(e.code, b...) }
func (e *emitter) put32(v uint32) { e.code = binary.LittleEndian.AppendUint32(e.code, v) }

// jump writes a jump to any address:
//
//	e9 rel32              within 2 GB
//	ff 25 00000000 addr   jmp *0(%rip); .quad addr
func (e *emitter) jump(target uint64) {
	if rel, ok := rel32(e.pc()+jumpLen, target); ok {
		e.put(0xe9)
		e.put32(rel)
		return
	}
	e.put(0xff, 0x25, 0, 0, 0, 0)
	e.code = binary.LittleEndian.AppendUint64(e.code, target)
}

// relocate writes the copy of one instruction.
func (e *emitter) relocate(in *Inst) error {
	switch in.Class {
	case Jmp:
		e.jump(in.Target)
	case Jcc:
		e.jcc(in.opcode&15, in.Target)
	case Loop:
		e.loop(in)
	case Call:
		e.returnTo(in.Next())
		e.jump(in.Target)
	case CallInd:
		return e.callIndirect(in)
	default:
		return e.copy(in, in.Bytes())
	}
	return nil
}

// copy writes the bytes b of an instruction that has in's operand, correcting a
// rip-relative displacement.
func (e *emitter) copy(in *Inst, b []byte) error {
	at := e.pc()
	e.put(b...)
	if in.RIPOff == 0 {
		return nil
	}
	rel, ok := rel32(at+uint64(in.Len), in.RIPTarget)
	if !ok {
		return &FarError{at, in.RIPTarget}
	}
	binary.LittleEndian.PutUint32(e.code[at-e.base+uint64(in.RIPOff):], rel)
	return nil
}

// jcc writes a conditional jump: 0f 8x rel32, or around a jump to anywhere.
func (e *emitter) jcc(cond byte, target uint64) {
	if rel, ok := rel32(e.pc()+6, target); ok {
		e.put(0x0f, 0x80|cond)
		e.put32(rel)
		return
	}
	e.put(0x70|cond^1, 0)
	e.skipped(target)
}

// skipped writes a jump and makes the 8-bit branch just written skip it.
func (e *emitter) skipped(target uint64) {
	from := len(e.code)
	e.jump(target)
	e.code[from-1] = byte(len(e.code) - from)
}

// loop expands loop, loope, loopne and jrcxz, which have no 32-bit form:
//
//	loop 1f; jmp 2f; 1: jmp target; 2:
func (e *emitter) loop(in *Inst) {
	if in.pfx.addrsize {
		e.put(0x67)
	}
	e.put(in.opcode, 2, 0xeb, 0)
	e.skipped(in.Target)
}

// returnTo writes a push of the program's own return address, so that the callee, stack traces and exceptions
// see nothing new. It is written as a call, and the address replaced, because the processor predicts returns by
// pairing them with calls: the return of this one call is mispredicted, those of the callers are not. Neither
// flags nor registers are used. (This would fail with a shadow stack, which Linux enables only on request.)
//
//	call 1f; int3
//	1: movl $lo, (%rsp); movl $hi, 4(%rsp)
func (e *emitter) returnTo(addr uint64) {
	e.put(0xe8, 1, 0, 0, 0, int3)
	e.put(0xc7, 0x04, 0x24)
	e.put32(uint32(addr))
	e.put(0xc7, 0x44, 0x24, 0x04)
	e.put32(uint32(addr >> 32))
}

// callIndirect writes an indirect call as returnTo and an indirect jump. The
// operand must be read before the return address is written, which could overlap
// it, and with the stack pointer as it was. So an operand that uses registers in
// an address, or the stack pointer itself, is first copied below the stack:
//
//	push operand; pop -16(%rsp); returnTo; jmp *-8(%rsp)
//
// What lies there is in the red zone, which the callee may overwrite and signal
// handlers may not.
func (e *emitter) callIndirect(in *Inst) error {
	if direct := in.RIPOff != 0 || in.fixedOperand(); direct {
		e.returnTo(in.Next())
		return e.copy(in, in.withDigit(4))
	}
	if err := e.copy(in, in.withDigit(6)); err != nil {
		return err
	}
	e.put(0x8f, 0x44, 0x24, 0xf0)
	e.returnTo(in.Next())
	e.put(0xff, 0x64, 0x24, 0xf8)
	return nil
}

// fixedOperand: a register other than rsp, or memory at a constant address.
func (in *Inst) fixedOperand() bool {
	m := in.memory()
	if m.isMem {
		return m.base < 0 && m.index < 0
	}
	return m.reg != 4
}

// withDigit is the encoding of an instruction of group 5 (opcode ff) turned
// into another one of the group, with the same operand and length.
func (in *Inst) withDigit(digit byte) []byte {
	b := append([]byte(nil), in.Bytes()...)
	b[in.modOff] = b[in.modOff]&^0x38 | digit<<3
	for i := range in.opOff {
		if b[i] == 0x66 || b[i] == 0xf2 || b[i] == 0xf3 {
			b[i] = csPrefix // bnd and a data16 that REX.W overrides
		}
	}
	return b
}

// Reach reports whether a trampoline of n bytes at at can be used: the site can
// jump to it and everything its displaced instructions refer to can be reached.
func (p *Plan) Reach(at uint64, n int) bool {
	if at > math.MaxUint64-uint64(n) {
		return false
	}
	if _, err := p.Edits(at); err != nil {
		return false
	}
	for i := range p.Insts {
		if in := &p.Insts[i]; in.RIPOff != 0 {
			_, lo := rel32(at, in.RIPTarget)
			_, hi := rel32(at+uint64(n), in.RIPTarget)
			if !lo || !hi {
				return false
			}
		}
	}
	return true
}
