package memory

import (
	"bytes"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// The room that stays free around what grows: a stack grows down, the heap of brk(2)
// grows up and fails where it meets us.
const (
	stackRoom = procdir.GrowRoom
	heapRoom  = 1 << 30
	// Reach is how far a rel32 branch leads, less the length of a large
	// trampoline and of the instruction itself.
	Reach   = 1<<31 - 1<<20
	lowest  = 1 << 16 // vm.mmap_min_addr by default
	highest = 1<<47 - 1<<16
)

// HeapStart is where brk(2) begins to give memory to a process; 0 if
// it is not known.
func HeapStart(pid int) uint64 {
	n, _ := procdir.Via(pid, func(dir string) (uint64, error) {
		b, err := os.ReadFile(dir + "/stat")
		if err != nil {
			return 0, err
		}
		// Field 47 is start_brk (proc(5)); field 2, the name, may hold anything and
		// ends with the last parenthesis. A thread without memory shows 0.
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) < 45 || f[44] == "0" {
			return 0, os.ErrNotExist
		}
		return strconv.ParseUint(f[44], 10, 64)
	})
	return n
}

// WithHeap adds an empty heap at start to the maps of a process that has not allocated a heap yet: it soon
// will, and needs room there.
func WithHeap(maps []Mapping, start uint64) []Mapping {
	start = (start + PageSize - 1) &^ (PageSize - 1) // old kernels: in the last page of the program's data, if addresses are not random
	at := 0
	for i, m := range maps {
		if m.Path == "[heap]" || m.Start < start && start < m.End {
			return maps
		}
		if m.End <= start {
			at = i + 1
		}
	}
	if start == 0 {
		return maps
	}
	return slices.Insert(slices.Clone(maps), at, Mapping{Start: start, End: start, Path: "[heap]"})
}

// NearGaps lists addresses where size bytes are free and every byte is within
// reach of addr, best first: the nearest; those in the way of the heap or of what may be a stack last.
func NearGaps(maps []Mapping, addr, size uint64) []uint64 {
	lo, hi := uint64(lowest), uint64(highest)
	if addr > Reach && addr-Reach > lo {
		lo = addr - Reach
	}
	if addr+Reach < hi {
		hi = addr + Reach
	}
	type cand struct {
		at, dist uint64
		bad      bool
	}
	var cands []cand
	add := func(from, to uint64, inTheWay bool) {
		from, to = max(from, lo), min(to, hi)
		from = (from + PageSize - 1) &^ (PageSize - 1)
		to &^= PageSize - 1
		if from >= to || to-from < size {
			return
		}
		at := min(max(addr&^(PageSize-1), from), to-size)
		cands = append(cands, cand{at, max(at, addr) - min(at, addr), inTheWay})
	}
	end, heap := uint64(lowest), false
	gap := func(to uint64, room uint64) {
		if room = min(room, to); room > 0 {
			add(max(end, to-room), to, true)
			to -= room
		}
		if heap && to > end+heapRoom {
			add(end, end+heapRoom, true)
			add(end+heapRoom, to, false)
		} else {
			add(end, to, heap)
		}
	}
	for i := range maps {
		m := &maps[i]
		switch {
		case strings.HasPrefix(m.Path, "[stack") && m.Start > stackRoom:
			gap(m.Start-stackRoom, 0)
		case m.MayGrow():
			gap(m.Start, stackRoom)
		default:
			gap(m.Start, 0)
		}
		end, heap = m.End, m.Path == "[heap]"
	}
	gap(highest, 0)
	sort.SliceStable(cands, func(i, j int) bool {
		if cands[i].bad != cands[j].bad {
			return !cands[i].bad
		}
		return cands[i].dist < cands[j].dist
	})
	out := make([]uint64, len(cands))
	for i, c := range cands {
		out[i] = c.at
	}
	return out
}
