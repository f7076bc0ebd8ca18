package ebpf

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"
)

// link concatenates the sections, drops unreachable code and sets the offsets of the jumps. long: there are
// jumps with 32-bit offsets.
func (c *code) link(long bool) (asm.Instructions, error) {
	all, to := c.flatten()
	thread(all, to)
	all, to = prune(all, to)
	far := make([]bool, len(all))
	most := math.MaxInt16
	if long {
		most = nearJump
	}
	for {
		at := offsets(all, far)
		again := false
		for n := range all {
			if to[n] < 0 || far[n] || isCall(all[n].ins) {
				continue
			}
			if d := at[to[n]] - at[n] - 1; d < -most || d > most {
				far[n], again = true, true
			}
		}
		if !again {
			return join(all, far, at, to, long)
		}
	}
}

// nearJump bounds 16-bit offsets where there are others. The kernel puts code in the place of calls and loads, up to eight instructions for one, and
// refuses a program in which an offset becomes too large.
const nearJump = 1 << 12

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

// prune drops unreachable code (the verifier refuses it) and jumps to the next instruction.
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

// nextLive returns the first instruction after n that is kept.
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

// isCall reports calls of functions: the library finds them by their names.
func isCall(i asm.Instruction) bool { return i.OpCode.JumpOp() == asm.Call }

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
		if target[n] < 0 || isCall(ins) {
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
