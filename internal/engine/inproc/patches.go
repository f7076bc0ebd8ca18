package inproc

import (
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/patch"
)

// patches are the patches of a process. The list is changed while the world is stopped, or while the
// process runs and may fork; it is also read on the tracer's goroutine. A slice is replaced as a whole, or
// appended to.
type patches struct {
	mu  sync.Mutex // guards in and out
	in  []*placed
	out []*placed // removed; threads may still be in their code
}

// list returns the patches in place. It must not be changed.
func (l *patches) list() []*placed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.in
}

// all returns the patches in place and those that were removed.
func (l *patches) all() []*placed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.in, l.out)
}

func (l *patches) set(list []*placed) {
	l.mu.Lock()
	l.in = list
	l.mu.Unlock()
}

// add records a patch before its first byte is written, so that takeBack will undo it.
func (l *patches) add(p *placed) {
	l.mu.Lock()
	l.in = append(l.in, p)
	l.mu.Unlock()
}

// remove records that the program's own bytes are restored; threads may still be in the code.
func (l *patches) remove(p *placed) {
	l.mu.Lock()
	l.out = append(l.out, p)
	l.in = slices.DeleteFunc(slices.Clone(l.in), func(q *placed) bool { return q == p })
	l.mu.Unlock()
}

// removeAll calls remove for all patches.
func (l *patches) removeAll() {
	l.mu.Lock()
	l.out, l.in = append(l.out, l.in...), nil
	l.mu.Unlock()
}

// replan changes the tactic of a patch.
func (l *patches) replan(p *placed, plan *patch.Plan, edits []patch.Edit) {
	l.mu.Lock()
	p.plan, p.edits = plan, edits
	l.mu.Unlock()
	for _, x := range p.sites {
		x.tactic = plan.Tactic.String()
	}
}

// empty reports whether there has never been a patch.
func (l *patches) empty() bool { return len(l.in) == 0 && len(l.out) == 0 }

// at returns the patch that changes or depends on the byte at addr, or nil.
func (l *patches) at(addr uint64) *placed {
	for _, p := range l.list() {
		if addr >= p.plan.Addr && addr < p.heldEnd() {
			return p
		}
	}
	return nil
}

// overlap reports whether a plan changes or depends on bytes that a patch in place changes or depends on.
func (l *patches) overlap(n *placed) bool {
	for _, p := range l.list() {
		if n.plan.Addr < p.heldEnd() && p.plan.Addr < n.heldEnd() {
			return true
		}
	}
	return false
}

// of returns the patch of a program, or nil.
func (l *patches) of(x *engine.Program) *placed {
	for _, p := range l.list() {
		if slices.ContainsFunc(p.sites, func(y *site) bool { return y.Program == x }) {
			return p
		}
	}
	return nil
}

// original replaces jalon's bytes by the program's in b, which was read at addr.
func (l *patches) original(addr uint64, b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.in {
		for _, d := range p.edits {
			for i, old := range d.Old {
				if off := d.Addr + uint64(i) - addr; off < uint64(len(b)) {
					b[off] = old
				}
			}
		}
	}
}

// copyOf returns the address of the copy of the displaced instruction at addr, after the hit programs of its sites.
func (l *patches) copyOf(addr uint64) (pc uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.in {
		for _, pair := range p.pcs[:min(len(p.pcs), len(p.plan.Insts))] {
			if pair.Orig == addr {
				return pair.Copy, true
			}
		}
	}
	return 0, false
}

// trapping are the patches with an int3 whose sites are in the set.
func (l *patches) trapping(of map[*site]bool) (list []*placed) {
	for _, p := range l.list() {
		if p.traps() && slices.ContainsFunc(p.sites, func(x *site) bool { return of[x] }) {
			list = append(list, p)
		}
	}
	return list
}

// apart separates sites without a patch from sites that existing patches cover, or for which one must be made again.
func (l *patches) apart(list []*site) (free, covered []*site) {
	for _, x := range list {
		if l.at(x.addr) != nil || len(l.destroying(x)) > 0 {
			covered = append(covered, x)
		} else {
			free = append(free, x)
		}
	}
	return free, covered
}

// wayBack is the program's own address for a pc at a boundary of displaced copies. Few threads are in them, so the patches
// are searched: a table of all boundaries takes longer, while the program stands still.
func (l *patches) wayBack(pc uint64) (to uint64, ok bool) {
	for _, p := range l.all() {
		if to, ok = p.wayBack(pc); ok {
			return to, true
		}
	}
	return 0, false
}
