package inproc

import (
	"encoding/binary"
	"errors"
	"sort"

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
// whose bytes do not change.
func threadMoves(st *process.Stopped, plans []*placed) (*moves, error) {
	mv := &moves{blocked: map[*placed]bool{}}
	inner := map[uint64]*placed{}
	copies := map[uint64]uint64{}
	var addrs []uint64
	for _, p := range plans {
		for i, pair := range p.pcs[:min(len(p.pcs), len(p.plan.Insts))] {
			if i > 0 && p.plan.Tactic != patch.Trapping {
				inner[pair.Orig], copies[pair.Orig] = p, pair.Copy
				addrs = append(addrs, pair.Orig)
			}
		}
	}
	if len(addrs) == 0 {
		return mv, nil
	}
	threads, err := st.Threads()
	if err != nil {
		return nil, err
	}
	find, stacks := wordFinder(addrs), st.Stacks()
	for _, t := range threads {
		for _, w := range find(stacks.WithRedZone(t.Regs.SP())) {
			mv.blocked[inner[w]] = true
		}
	}
	for _, t := range threads {
		p := inner[t.Regs.PC()]
		if p == nil || mv.blocked[p] {
			continue
		}
		if err := st.SetPC(t.TID, copies[t.Regs.PC()]); errors.Is(err, process.ErrRestart) {
			mv.blocked[p] = true
		} else if err != nil && !errors.Is(err, process.ErrGone) {
			return nil, err
		}
	}
	return mv, nil
}

// wordFinder returns a function that lists which of addrs occur as aligned words.
func wordFinder(addrs []uint64) func([]byte) []uint64 {
	sort.Slice(addrs, func(i, j int) bool { return addrs[i] < addrs[j] })
	lo, hi := addrs[0], addrs[len(addrs)-1]
	return func(mem []byte) (found []uint64) {
		for ; len(mem) >= 8; mem = mem[8:] {
			w := binary.LittleEndian.Uint64(mem)
			if w < lo || w > hi {
				continue
			}
			i := sort.Search(len(addrs), func(i int) bool { return addrs[i] >= w })
			if i < len(addrs) && addrs[i] == w {
				found = append(found, w)
			}
		}
		return found
	}
}
