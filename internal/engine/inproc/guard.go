package inproc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// The guard keeps other tracers' uprobes off the pages that have patches of ours.
//
// Without it the kernel writes an int3 over the first byte of our jump, runs the file's
// instruction in its place and goes on behind it, in the middle of the jump; and at its
// end writes the file's byte back over the jump's. Either kills the program.
//
// The kernel puts uprobes into private file mappings that are not writable (valid_vma in
// kernel/events/uprobes.c), and takes them out of writable ones, too. So, with the world
// stopped:
//
//  1. The pages are made writable. From here on no uprobe comes into them: the kernel
//     looks at the mapping with its lock held, which mprotect takes.
//  2. The bytes are compared with those that the patch was planned for: a uprobe that
//     came since then is seen, and the patch is not made.
//  3. The patches are written.
//
// and at the end
//
//  4. The program's own bytes are written back.
//  5. The pages get their protection back. What the kernel puts there now, it puts into
//     the program's own code.
//
// Killed anywhere in between, jalon leaves patches in pages that are guarded, or guarded pages without patches:
// both are harmless. A uprobe that was in the page before stays, works, and can be removed at any time, because
// removal does not depend on the protection.
//
// The other way, an anonymous copy of the page moved over it (cover.go), is for where the
// first is refused: it needs no writable code, but hides the file from whatever names
// addresses by /proc/PID/maps (perf), and the int3 of a uprobe that is in the copy is never
// removed: the program dies at the first hit after its end. Where neither is possible no
// jumps are written: an int3 of ours stays what it is under a uprobe and after it.

// pageGuard is the guard of a process's pages.
type pageGuard struct {
	report
	others    *others
	mu        sync.Mutex // guards what follows: a forked child is looked at on the tracer's goroutine
	guards    []guarded
	covers    []covered
	unguarded bool // that pages cannot be guarded was said
}

// guarded is a run of pages that were made writable, and the mapping they are of.
type guarded struct {
	lo, hi uint64
	of     uint64 // the mapping's start
	inode  uint64
	prot   int // before
}

// protect keeps uprobes off the pages of patches, with the world stopped. It returns the
// patches in pages where that is not possible: jumps must not be written there.
func (g *pageGuard) protect(st *process.Stopped, plans []*placed) (open map[*placed]bool, err error) {
	if len(plans) == 0 {
		return nil, nil
	}
	mapped, err := st.Maps()
	if err != nil {
		return nil, err
	}
	open = map[*placed]bool{}
	for _, r := range guardRuns(plans, mapped) {
		_, err := st.Syscall(unix.SYS_MPROTECT, r.lo, r.hi-r.lo, uint64(r.prot|unix.PROT_WRITE))
		switch {
		case errors.Is(err, process.ErrGone):
			return nil, err
		case err != nil:
			g.exposed(st, r, plans, mapped, err, open)
			continue
		}
		g.mu.Lock()
		g.guards = append(g.guards, r)
		g.mu.Unlock()
	}
	return open, nil
}

// exposed covers pages that must not be writable, or notes the jumps that must not be
// written into them.
func (g *pageGuard) exposed(st *process.Stopped, r guarded, plans []*placed, mapped []process.Mapping, refused error, open map[*placed]bool) {
	inside := func(p *placed) bool { return p.plan.Addr < r.hi && r.lo < max(p.end(), p.heldEnd()) }
	mod := plans[slices.IndexFunc(plans, inside)].mod
	err := g.cover(st, r, mod, mapped)
	if err == nil {
		g.logf("%d pages at %#x cannot be made writable (%v): a copy lies over them", (r.hi-r.lo)/pageSize, r.lo, refused)
		return
	}
	for _, p := range plans {
		if inside(p) && p.plan.Tactic != patch.Trapping {
			open[p] = true
		}
	}
	if !g.unguarded {
		g.unguarded = true
		g.warn(fmt.Sprintf("pages of code at %#x can neither be made writable (%v) nor covered (%v): no jumps are written there, where another tracer's uprobe could meet them", r.lo, refused, err))
	}
}

// maxRuns bounds the calls that protect makes while the world is stopped (50 µs each
// where traps are dear): beyond it the pages between patches are guarded, too, where
// there are fewest of them.
const maxRuns = 64

// guardRuns lists the pages of patches that the kernel would take uprobes in, adjacent
// ones of one mapping together.
func guardRuns(plans []*placed, mapped []process.Mapping) (runs []guarded) {
	list := patchedPages(plans)
	for _, m := range mapped {
		if !takesUprobes(&m) {
			continue
		}
		for i := sort.Search(len(list), func(i int) bool { return list[i] >= m.Start }); i < len(list) && list[i] < m.End; i++ {
			if n := len(runs); n > 0 && runs[n-1].hi == list[i] && list[i] != m.Start {
				runs[n-1].hi += pageSize
				continue
			}
			runs = append(runs, guarded{list[i], list[i] + pageSize, m.Start, m.Inode, m.Prot})
		}
	}
	return joinRuns(runs, maxRuns)
}

// patchedPages are the pages with bytes that patches change or keep, sorted.
func patchedPages(plans []*placed) []uint64 {
	pages := map[uint64]bool{}
	for _, p := range plans {
		for a := p.plan.Addr &^ (pageSize - 1); a < max(p.end(), p.heldEnd()); a += pageSize {
			pages[a] = true
		}
	}
	return slices.Sorted(maps.Keys(pages))
}

// joinRuns closes the smallest gaps within mappings until there are at most so many runs,
// or one a mapping.
func joinRuns(runs []guarded, most int) []guarded {
	var gaps []uint64
	for i := 1; i < len(runs); i++ {
		if runs[i].of == runs[i-1].of {
			gaps = append(gaps, runs[i].lo-runs[i-1].hi)
		}
	}
	if len(runs) <= most || len(gaps) == 0 {
		return runs
	}
	slices.Sort(gaps)
	largest := gaps[min(len(runs)-most, len(gaps))-1] // of those that are closed
	out := runs[:1]
	for _, r := range runs[1:] {
		last := &out[len(out)-1]
		if r.of == last.of && r.lo-last.hi <= largest {
			last.hi = r.hi
			continue
		}
		out = append(out, r)
	}
	return out
}

// takesUprobes reports whether the kernel puts uprobes into a mapping.
func takesUprobes(m *process.Mapping) bool {
	return m.Inode != 0 && !m.Shared && m.Prot&unix.PROT_WRITE == 0
}

// unguard gives the pages of the process, or of a forked child, the protection back that
// they had. The patches are out of them. What the program has mapped anew or protected
// otherwise since then is left as it is.
func (g *pageGuard) unguard(st *process.Stopped) error {
	g.mu.Lock()
	list := g.guards
	g.mu.Unlock()
	if err := g.uncover(st); err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	mapped, err := st.Maps()
	if err != nil {
		return err
	}
	var first error
	for _, r := range spans(list, mapped) {
		if _, err := st.Syscall(unix.SYS_MPROTECT, r.lo, r.hi-r.lo, uint64(r.prot)); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// spans lists what of the runs is still as protect left it: a library may be gone, and the
// program may have protected its pages otherwise.
func spans(list []guarded, mapped []process.Mapping) (out []guarded) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b guarded) int { return cmp.Compare(a.lo, b.lo) })
	for i := range mapped {
		m := &mapped[i]
		for _, g := range list {
			lo, hi := max(g.lo, m.Start), min(g.hi, m.End)
			if lo >= hi || g.inode != m.Inode || m.Shared || m.Prot != g.prot|unix.PROT_WRITE {
				continue
			}
			if n := len(out); n > 0 && out[n-1].hi >= lo && out[n-1].inode == g.inode && out[n-1].prot == g.prot {
				out[n-1].hi = max(out[n-1].hi, hi)
				continue
			}
			out = append(out, guarded{lo: lo, hi: hi, inode: g.inode, prot: g.prot})
		}
	}
	return out
}

// drop forgets the pages: they are gone with their program.
func (g *pageGuard) drop() {
	g.mu.Lock()
	g.guards, g.covers = nil, nil
	g.mu.Unlock()
}
