package inproc

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// moves describes the effect of arming on threads that are stopped between the instructions that a jump
// will replace.
type moves struct {
	blocked map[*placed]bool // a thread would return into the middle
}

// threadMoves moves such threads to the copies of their instructions. A pc to which a signal handler will
// return cannot be moved: such a patch is left out.
//
// The intermediate states are safe: nothing has been written yet. A moved thread executes the copy of the
// instruction before which it was stopped, and jumps back to the code after the displaced instructions,
// whose bytes do not change. inner may have more than the plans, which are those that will be written.
func threadMoves(st *process.Stopped, inner []innerPC, plans []*placed) (*moves, error) {
	mv := &moves{blocked: map[*placed]bool{}}
	if len(inner) == 0 || len(plans) == 0 {
		return mv, nil
	}
	threads, err := st.Threads()
	if err != nil {
		return nil, err
	}
	stacks := st.Stacks()
	for _, t := range threads {
		for _, x := range mentioned(inner, stacks.WithRedZone(t.Regs.SP())) {
			mv.blocked[x.p] = true
		}
	}
	for _, t := range threads {
		x, ok := find(inner, t.Regs.PC())
		if !ok || mv.blocked[x.p] || !slices.Contains(plans, x.p) {
			continue
		}
		if err := st.SetPC(t.TID, x.copy); errors.Is(err, process.ErrRestart) {
			mv.blocked[x.p] = true
		} else if err != nil && !errors.Is(err, process.ErrGone) {
			return nil, err
		}
	}
	return mv, nil
}

// innerPC is the address of an instruction inside a jump, and of its copy.
type innerPC struct {
	orig, copy uint64
	p          *placed
}

// innerOf lists those of plans, by address. It is made before the program is stopped.
func innerOf(plans []*placed) (list []innerPC) {
	for _, p := range plans {
		for i, pair := range p.pcs[:min(len(p.pcs), len(p.plan.Insts))] {
			if i > 0 && p.plan.Tactic != patch.Trapping {
				list = append(list, innerPC{pair.Orig, pair.Copy, p})
			}
		}
	}
	slices.SortFunc(list, func(a, b innerPC) int { return cmp.Compare(a.orig, b.orig) })
	return list
}

func find(list []innerPC, pc uint64) (innerPC, bool) {
	i, ok := slices.BinarySearchFunc(list, pc, func(x innerPC, pc uint64) int { return cmp.Compare(x.orig, pc) })
	if !ok {
		return innerPC{}, false
	}
	return list[i], true
}

// mentioned lists those that occur as words of memory.
func mentioned(list []innerPC, mem []byte) (found []innerPC) {
	lo, hi := list[0].orig, list[len(list)-1].orig
	for ; len(mem) >= 8; mem = mem[8:] {
		if w := binary.LittleEndian.Uint64(mem); w >= lo && w <= hi {
			if x, ok := find(list, w); ok {
				found = append(found, x)
			}
		}
	}
	return found
}
