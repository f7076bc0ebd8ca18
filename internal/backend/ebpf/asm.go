package ebpf

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"
)

// label is a place in the code that jumps lead to.
type label int

// section is the section for code: rare paths come after all others.
type section uint8

const (
	hot section = iota
	cold
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

// code collects instructions in two sections.
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

// link puts the sections one behind the other, drops what is never reached and
// sets the offsets of the jumps. long says that there are jumps with 32-bit offsets.
func (c *code) link(long bool) (asm.Instructions, error) {
	all, to := c.flatten()
	thread(all, to)
	all, to = prune(all, to)
	far := make([]bool, len(all))
	for {
		at := offsets(all, far)
		again := false
		for n := range all {
			if to[n] < 0 || far[n] {
				continue
			}
			if d := at[to[n]] - at[n] - 1; d < math.MinInt16 || d > math.MaxInt16 {
				far[n], again = true, true
			}
		}
		if !again {
			return join(all, far, at, to, long)
		}
	}
}

// flatten gives all instructions in order, and for each jump the index of its target.
func (c *code) flatten() (all []insn, to []int) {
	start := [numSections]int{}
	for s := range c.sec {
		start[s] = len(all)
		all = append(all, c.sec[s]...)
	}
	to = make([]int, len(all))
	for n := range all {
		to[n] = -1
		if l := all[n].to; l != noLabel {
			to[n] = start[c.labels[l].sec] + c.labels[l].at
		}
	}
	return all, to
}

// thread lets jumps to jumps lead to where those lead.
func thread(all []insn, to []int) {
	for n := range all {
		for steps := 0; to[n] >= 0 && isJa(all[to[n]].ins) && steps < len(all); steps++ {
			to[n] = to[to[n]]
		}
	}
}

// prune drops what is never reached (the verifier refuses it) and jumps to what
// follows anyhow.
func prune(all []insn, to []int) ([]insn, []int) {
	live := make([]bool, len(all)+1)
	work := []int{0}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for !live[n] {
			live[n] = true
			ins := all[n].ins
			if to[n] >= 0 && !isJa(ins) {
				work = append(work, to[n])
			}
			switch {
			case ins.OpCode == asm.Return().OpCode:
			case to[n] >= 0 && isJa(ins):
				n = to[n]
			default:
				n++
			}
		}
	}
	for n := range all {
		if live[n] && isJa(all[n].ins) && nextLive(live, n) == to[n] {
			live[n] = false
		}
	}
	index := make([]int, len(all)+1)
	var kept []insn
	for n := range all {
		index[n] = len(kept)
		if live[n] {
			kept = append(kept, all[n])
		}
	}
	target := make([]int, 0, len(kept))
	for n := range all {
		switch {
		case !live[n]:
		case to[n] < 0:
			target = append(target, -1)
		default:
			target = append(target, index[to[n]])
		}
	}
	return kept, target
}

// nextLive is the first instruction behind n that is kept.
func nextLive(live []bool, n int) int {
	for n++; n < len(live)-1 && !live[n]; n++ {
	}
	return n
}

// offsets gives the position of each instruction, and of the end, in units of
// 8 bytes.
func offsets(all []insn, far []bool) []int {
	at := make([]int, len(all)+1)
	for n, i := range all {
		size := 1
		switch {
		case i.ins.OpCode.IsDWordLoad():
			size = 2
		case far[n] && !isJa(i.ins):
			size = 3
		}
		at[n+1] = at[n] + size
	}
	return at
}

func isJa(i asm.Instruction) bool { return i.OpCode == asm.Ja.Op(asm.ImmSource) }

// join writes the instructions with their offsets. A conditional jump that is
// too far becomes one over a jump that goes there:
//
//	if a op b goto +1
//	goto +1
//	gotol far
func join(all []insn, far []bool, at, target []int, long bool) (asm.Instructions, error) {
	var out asm.Instructions
	for n, i := range all {
		ins := i.ins
		if i.note != "" {
			ins.Metadata.Set(noteKey{}, i.note)
		}
		if target[n] < 0 {
			out = append(out, ins)
			continue
		}
		to := at[target[n]]
		if !far[n] {
			ins.Offset = int16(to - at[n] - 1)
			out = append(out, ins)
			continue
		}
		if !long {
			return nil, fmt.Errorf("the program has %d instructions: more than a jump can cross in this kernel's instruction set (Linux 6.6 has longer jumps)", at[len(all)])
		}
		if !isJa(ins) {
			ins.Offset = 1
			over := asm.Instruction{OpCode: asm.Ja.Op(asm.ImmSource), Offset: 1}
			out = append(out, ins, over)
		}
		out = append(out, asm.Instruction{
			OpCode:   asm.OpCode(asm.Jump32Class).SetJumpOp(asm.Ja),
			Constant: int64(to - at[n+1]),
		})
	}
	return out, nil
}
