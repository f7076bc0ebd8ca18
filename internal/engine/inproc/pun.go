package inproc

import (
	"math"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
)

// A punned jump can reach only a few addresses: its last bytes are the first bytes of the following
// instructions. At such an address a stub of five bytes jumps on to the trampoline, which is with the other
// trampolines. If there is no room for a stub, the site gets an int3.
//
//	site:  e9 lo hi | 83 c0 ...     ->  stub: e9 rel32  ->  trampoline
//	             unchanged ^^^^^

const (
	stubLen  = 5
	pageSize = 4096
	// maxStubPages limits the pages mapped for stubs. Each is a mapping, of which a process may have 65530
	// by default, and needs an injected call while the process is stopped.
	maxStubPages = 512
)

// stubPage is a page of stubs.
type stubPage struct {
	base uint64
	used [pageSize / 8]byte // a bit per byte
}

// take finds room for a stub that begins in [lo, hi).
func (g *stubPage) take(lo, hi uint64) (uint64, bool) {
	lo, hi = max(lo, g.base), min(hi, g.base+pageSize-stubLen+1)
	free := 0
	for a := lo; lo < hi && a < hi+stubLen-1; a++ {
		if g.used[(a-g.base)/8]>>((a-g.base)%8)&1 != 0 {
			free = 0
			continue
		}
		if free++; free == stubLen {
			at := a - stubLen + 1
			for b := at; b <= a; b++ {
				g.used[(b-g.base)/8] |= 1 << ((b - g.base) % 8)
			}
			return at, true
		}
	}
	return 0, false
}

// gaps are the free ranges of an address space.
type gaps struct{ list []span }

// newGaps leaves out ranges into which the heap and the stacks may grow. maps has an entry for the heap even if that is
// empty: a program that has just been started allocates it later.
func newGaps(maps []process.Mapping) *gaps {
	const stackRoom, heapRoom = 64 << 20, 1 << 30
	g := &gaps{}
	end := uint64(1 << 16)
	for _, m := range maps {
		lo, hi := m.Start, m.End
		switch {
		case strings.HasPrefix(m.Path, "[stack"):
			lo -= min(lo, stackRoom)
		case m.MayGrow():
			lo -= min(lo, procdir.GrowRoom)
		}
		if m.Path == "[heap]" {
			hi += heapRoom
		}
		if lo > end {
			g.list = append(g.list, span{end, lo})
		}
		end = max(end, hi)
	}
	if top := uint64(1<<47 - 1<<16); end < top {
		g.list = append(g.list, span{end, top})
	}
	return g
}

// page returns a free page that overlaps [lo, hi).
func (g *gaps) page(lo, hi uint64) (uint64, bool) {
	for i := sort.Search(len(g.list), func(i int) bool { return g.list[i].hi > lo }); i < len(g.list) && g.list[i].lo < hi; i++ {
		s := g.list[i]
		from := max(lo&^(pageSize-1), (s.lo+pageSize-1)&^(pageSize-1))
		if from+pageSize > s.hi || from >= hi {
			continue
		}
		rest := []span{{s.lo, from}, {from + pageSize, s.hi}}
		g.list = append(g.list[:i:i], append(rest, g.list[i+1:]...)...)
		return from, true
	}
	return 0, false
}

// placeStubs gives every punned plan a stub. It returns the plans without one: no address that the jump can reach is
// free.
func (m *codeSpace) placeStubs(st callable, plans []*placed) (without []*placed, err error) {
	var free *gaps
	for _, p := range plans {
		if p.plan.Tactic != patch.Pun {
			continue
		}
		if free == nil {
			maps, err := st.MapsWithHeap()
			if err != nil {
				return nil, err
			}
			free = newGaps(maps)
		}
		if !m.placeStub(st, p, free) {
			without = append(without, p)
		}
	}
	return without, nil
}

func (m *codeSpace) placeStub(st callable, p *placed, free *gaps) bool {
	for _, r := range p.plan.Ranges() {
		for _, g := range m.stubs {
			if g.base+pageSize <= r.Lo || g.base >= r.Hi || !reaches(g.base, p.region) {
				continue
			}
			if at, ok := g.take(r.Lo, r.Hi); ok {
				p.stub = at
				return true
			}
		}
	}
	if len(m.stubs) >= maxStubPages {
		return false
	}
	for _, r := range p.plan.Ranges() {
		base, ok := free.page(r.Lo, r.Hi)
		if !ok || !reaches(base, p.region) {
			continue
		}
		got, err := st.Syscall(unix.SYS_MMAP, base, pageSize, unix.PROT_READ|unix.PROT_EXEC,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0)
		if err != nil {
			continue
		}
		if got != base { // a kernel before 4.17 treats the address as a hint
			_ = st.Free(got, pageSize)
			continue
		}
		g := &stubPage{base: base}
		m.stubs = append(m.stubs, g)
		if at, ok := g.take(r.Lo, r.Hi); ok {
			p.stub = at
			return true
		}
	}
	return false
}

// reaches reports whether a jump from any address in the page reaches any address in r.
func reaches(page uint64, r *region) bool {
	lo, hi := min(page, r.base), max(page+pageSize, r.base+r.size)
	return hi-lo < math.MaxInt32
}
