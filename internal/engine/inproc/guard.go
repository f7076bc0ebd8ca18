package inproc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// The guard prevents other tracers' uprobes in pages that contain jalon's patches.
//
// Without it, the kernel writes an int3 over the first byte of jalon's jump, runs the file's instruction
// instead and continues after it, in the middle of the jump. When the uprobe is removed, the kernel
// restores the file's byte over the jump. Either kills the program.
//
// The kernel inserts uprobes in private file mappings that are not writable (valid_vma in
// kernel/events/uprobes.c), but also removes them from writable ones. So:
//
//  1. The pages are made writable, while threads run. From here on no uprobe is inserted in them: the kernel checks the
//     mapping while it holds its lock, and mprotect takes the same lock.
//  2. With the world stopped, the bytes are compared with those for which the patch was planned. If a uprobe was inserted since
//     then, it is found and the patch is not made.
//  3. The patches are written.
//
// At the end:
//
//  4. The program's own bytes are restored.
//  5. The protection of the pages is restored, while threads run. Uprobes that the kernel inserts from here on are in the
//     program's own code.
//
// If jalon is killed at any point, the result is patches in guarded pages, or guarded pages without
// patches. Both are harmless. A uprobe that was in the page before stays, works, and can be removed at any
// time, because removal does not depend on the protection.
//
// If step 1 is refused, an anonymous copy covers the page (cover.go). It needs no writable code, but it
// hides the file from tools that resolve addresses by /proc/PID/maps (perf). Also, the int3 of a uprobe in
// the copy is never removed: the program dies at the first hit after the end of the uprobe. If neither is
// possible, no jumps are written; an int3 of jalon remains valid under a uprobe and after it.

// pageGuard guards pages of a process.
type pageGuard struct {
	report
	others    *others
	mu        sync.Mutex // guards the fields below: forked children are handled on the tracer's goroutine
	guards    []guarded
	covers    []covered
	unguarded bool // the warning that pages cannot be guarded was given
}

// guarded is a run of pages that were made writable, with its mapping.
type guarded struct {
	lo, hi uint64
	of     uint64 // the mapping's start
	inode  uint64
	prot   int // protection before
}

// refused are runs of pages that cannot be made writable.
type refused struct {
	guarded
	err error
}

// protect makes the pages of patches writable. It returns those that cannot be.
func (g *pageGuard) protect(st callable, plans []*placed) (left []refused, err error) {
	if len(plans) == 0 {
		return nil, nil
	}
	mapped, err := st.Maps()
	if err != nil {
		return nil, err
	}
	runs := guardRuns(plans, mapped)
	results, err := protectRuns(st, runs, unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	for i, r := range runs {
		if results[i].Err != nil {
			left = append(left, refused{r, results[i].Err})
			continue
		}
		g.mu.Lock()
		g.guards = append(g.guards, r)
		g.mu.Unlock()
	}
	return left, g.makeOwn(st, plans, mapped)
}

// fewPages is how many pages are left to the writes.
const fewPages = 16

// makeOwn gives the process its own copies of the pages that will be written, by calls, as the writes would: ten thousand
// pages take 50 ms. Nothing in them changes. Kernels before 5.14 do not have the call; then the writes make the copies.
func (g *pageGuard) makeOwn(st callable, plans []*placed, mapped []process.Mapping) error {
	var calls []process.Call
	list := patchedPages(plans)
	if len(list) <= fewPages {
		return nil
	}
	for _, m := range mapped {
		if !takesUprobes(&m) {
			continue
		}
		i, _ := slices.BinarySearch(list, m.Start)
		for i < len(list) && list[i] < m.End {
			n := 1
			for i+n < len(list) && list[i+n] == list[i]+uint64(n)*pageSize && list[i+n] < m.End {
				n++
			}
			calls = append(calls, process.SystemCall(unix.SYS_MADVISE, list[i], uint64(n)*pageSize, unix.MADV_POPULATE_WRITE))
			i += n
		}
	}
	for len(calls) > 0 {
		if err := g.interrupted(); err != nil {
			return err
		}
		n := min(len(calls), 500)
		if _, err := st.Syscalls(calls[:n]); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// coverAll covers the pages that cannot be made writable, with the world stopped. It returns the patches in pages
// where that is not possible either: no jumps must be written there.
func (g *pageGuard) coverAll(st *process.Stopped, list []refused, plans []*placed) (open map[*placed]bool, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	mapped, err := st.Maps()
	if err != nil {
		return nil, err
	}
	open = map[*placed]bool{}
	for _, r := range list {
		if slices.ContainsFunc(plans, r.inside) {
			g.exposed(st, r.guarded, plans, mapped, r.err, open)
		}
	}
	return open, nil
}

// inside reports whether bytes that a patch changes or depends on are in the pages.
func (r guarded) inside(p *placed) bool {
	return p.plan.Addr < r.hi && r.lo < p.heldEnd()
}

// exposed covers pages that must not be writable, or records the jumps that must not be written in them.
func (g *pageGuard) exposed(st *process.Stopped, r guarded, plans []*placed, mapped []process.Mapping, refused error, open map[*placed]bool) {
	mod := plans[slices.IndexFunc(plans, r.inside)].mod
	err := g.cover(st, r, mod, mapped)
	if err == nil {
		g.logf("%d pages at %#x cannot be made writable (%v): a copy covers them", (r.hi-r.lo)/pageSize, r.lo, refused)
		return
	}
	for _, p := range plans {
		if r.inside(p) && p.plan.Tactic != patch.Trapping {
			open[p] = true
		}
	}
	if !g.unguarded {
		g.unguarded = true
		g.warn(fmt.Sprintf("pages of code at %#x can neither be made writable (%v) nor covered (%v): no jumps are written there, because another tracer's uprobe could be inserted there", r.lo, refused, err))
	}
}

// maxRuns bounds the number of calls in protect while the world is stopped (50 µs each on machines with
// slow traps). Above it, pages between patches are guarded too, where the gaps are smallest.
const maxRuns = 64

// guardRuns lists the pages of patches in which the kernel would insert uprobes. Adjacent pages of one
// mapping form a run.
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

// patchedPages returns the pages with bytes that patches change or depend on, sorted.
func patchedPages(plans []*placed) []uint64 {
	pages := map[uint64]bool{}
	for _, p := range plans {
		for a := p.plan.Addr &^ (pageSize - 1); a < p.heldEnd(); a += pageSize {
			pages[a] = true
		}
	}
	return slices.Sorted(maps.Keys(pages))
}

// joinRuns closes the smallest gaps within mappings until the number of runs is at most the limit, or one
// for each mapping.
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
	largest := gaps[min(len(runs)-most, len(gaps))-1] // the largest gap that is closed
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

// takesUprobes reports whether the kernel inserts uprobes in a mapping.
func takesUprobes(m *process.Mapping) bool {
	return m.Inode != 0 && !m.Shared && m.Prot&unix.PROT_WRITE == 0
}

// unguard restores the protection of the pages of the process, or of a forked child, after the patches have
// been removed. Pages that the program has mapped again or protected differently since then are not
// changed.
func (g *pageGuard) unguard(st callable) error {
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
	results, err := protectRuns(st, spans(list, mapped), 0)
	for i := 0; err == nil && i < len(results); i++ {
		err = results[i].Err
	}
	return err
}

// protectRuns gives the pages of runs the protection that they had, and more.
func protectRuns(st callable, runs []guarded, more int) ([]process.CallResult, error) {
	var calls []process.Call
	for _, r := range runs {
		calls = append(calls, process.SystemCall(unix.SYS_MPROTECT, r.lo, r.hi-r.lo, uint64(r.prot|more)))
	}
	return st.Syscalls(calls)
}

// spans lists the parts of the runs that still have the state set by protect: a library may have been
// unloaded, and the program may have changed the protection of its pages.
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

// drop drops the list of pages after exec.
func (g *pageGuard) drop() {
	g.mu.Lock()
	g.guards, g.covers = nil, nil
	g.mu.Unlock()
}
