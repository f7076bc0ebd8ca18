package ebpf

import (
	"github.com/cilium/ebpf/asm"
)

// label is a place in the code that jumps lead to.
type label int

// section is the section for code: rare paths come after all others, functions behind them.
type section uint8

const (
	hot section = iota
	cold
	functions // each in one piece, with its rare paths
	numSections
)

// insn is an instruction, with the label it jumps to if it is a jump. Conditional
// jumps are those with a label that are not Ja.
type insn struct {
	ins  asm.Instruction
	to   label // noLabel: no jump
	note string
}

const noLabel label = -1

// noteKey is under what the note of an instruction is kept for Listing. (As its
// source it would become line information, to be loaded with the program.)
type noteKey struct{}

type place struct {
	sec section
	at  int // index in the section
}

// code collects instructions in sections.
type code struct {
	sec    [numSections][]insn
	labels []place
	cur    section
	note   string // goes with the next instruction
}

func (c *code) emit(i asm.Instruction) { c.add(insn{ins: i, to: noLabel}) }

func (c *code) add(i insn) {
	i.note, c.note = c.note, ""
	c.sec[c.cur] = append(c.sec[c.cur], i)
}

func (c *code) newLabel() label {
	c.labels = append(c.labels, place{at: -1})
	return label(len(c.labels) - 1)
}

// bind puts l at the present end of the current section.
func (c *code) bind(l label) { c.labels[l] = place{c.cur, len(c.sec[c.cur])} }

func (c *code) here() label {
	l := c.newLabel()
	c.bind(l)
	return l
}

func (c *code) jump(l label) {
	c.add(insn{ins: asm.Instruction{OpCode: asm.Ja.Op(asm.ImmSource)}, to: l})
}

// callTo calls the function at l, which has this name.
func (c *code) callTo(l label, name string) {
	c.add(insn{ins: asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoCall, Constant: -1}.WithReference(name), to: l})
}

// jumpIf jumps when a op b holds; w is 4 or 8.
func (c *code) jumpIf(op asm.JumpOp, w uint8, a, b asm.Register, l label) {
	c.add(insn{ins: asm.Instruction{OpCode: jumpOp(op, w, asm.RegSource), Dst: a, Src: b}, to: l})
}

// jumpIfImm is jumpIf with a number, which is sign-extended to 64 bits when w is 8.
func (c *code) jumpIfImm(op asm.JumpOp, w uint8, a asm.Register, k int32, l label) {
	c.add(insn{ins: asm.Instruction{OpCode: jumpOp(op, w, asm.ImmSource), Dst: a, Constant: int64(k)}, to: l})
}

func jumpOp(op asm.JumpOp, w uint8, s asm.Source) asm.OpCode {
	class := asm.JumpClass
	if w == 4 {
		class = asm.Jump32Class
	}
	return asm.OpCode(class).SetJumpOp(op).SetSource(s)
}
