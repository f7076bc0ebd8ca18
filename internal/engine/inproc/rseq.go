package inproc

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// Restartable sequences: when a thread is interrupted in one, the kernel continues it at its abort handler.
// A thread in a copy of some of its instructions is outside the sequence and continues although it was
// interrupted: two threads may then increment to the same number. Sequences are known
//
//   - from the module's data, if it describes them
//   - to be in a function, by an abort handler in it, one that jumps back into it, or one that is named where an
//     address of the function is named too, when no data describes them because they are described at run time. The
//     whole function is then not traced by jumps. A function is what any source says that it is: labels of assembler
//     may lie within
//   - because threads are in them, or were in them last, when the world is stopped for arming: these are
//     handlers with a signature of the program's own

// sequences lists the sequences that the module describes.
func (m *module) sequences(fn *dwarf.Function, read reader) (out []patch.Range, err error) {
	list, err := m.dw.RseqRanges()
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		out = append(out, patch.Range{Lo: r.Lo + m.bias, Hi: r.Hi + m.bias})
	}
	ranges := slices.Clone(fn.Ranges)
	if x := m.dw.Extent(fn.Lo); len(x.Starts) > 0 { // labels divide functions of assembler
		ranges = append(ranges, debuginfo.Range{Lo: x.Lo, Hi: x.Hi})
	}
	aborts, err := m.dw.MadeAborts()
	if err != nil {
		return nil, err
	}
	within := func(vaddr uint64) bool { return inside(ranges, vaddr) }
	for _, a := range aborts {
		if slices.ContainsFunc(a.Near, within) || m.leadsInto(a.At, read, within) {
			return nil, fmt.Errorf("%s has a restartable sequence (rseq) that is described at run time, with its abort handler at %#x: its start is not known", fn.Name, a.At+m.bias)
		}
	}
	return out, nil
}

func inside(ranges []debuginfo.Range, vaddr uint64) bool {
	for _, r := range ranges {
		if vaddr >= r.Lo && vaddr < r.Hi {
			return true
		}
	}
	return false
}

// leadsInto reports whether an abort handler goes on within a function.
func (m *module) leadsInto(abort uint64, read reader, within func(vaddr uint64) bool) bool {
	return patch.LeadsInto(abort, func(vaddr uint64, n int) ([]byte, error) { return read(vaddr+m.bias, n) }, within)
}

// apartFromLive leaves out patches that touch sequences in which threads are.
func (l *sites) apartFromLive(st *process.Stopped, plans []*placed) []*placed {
	live := st.Sequences()
	if len(live) == 0 {
		return plans
	}
	return l.keep(plans, func(p *placed) error {
		for _, r := range live {
			if p.plan.Addr < r[1] && p.heldEnd() >= r[0] {
				return fmt.Errorf("%#x lies in a restartable sequence (rseq) that a thread is in: the kernel would not abort it", p.plan.Addr)
			}
		}
		return nil
	})
}
