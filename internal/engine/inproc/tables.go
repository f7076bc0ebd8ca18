package inproc

import (
	"encoding/binary"
	"sort"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/process"
)

// tables describe the addresses of jalon's code for the tracer. They are read on the tracer's goroutine while
// other goroutines install sites, so they are immutable and replaced as a whole.
type tables struct {
	fault  map[uint64]uint64 // pc of a guarded access -> its fixup
	edge   map[uint64]edge   // pc of a store to a stack that may be full
	clock  map[uint64]uint64 // pc of an rdtsc -> address after it
	trap   map[uint64]uint64 // address of an int3 of jalon -> trampoline
	uprobe map[uint64][]byte // address of a uprobe -> the program's bytes there
	origin []copied          // displaced instructions, sorted by the address of their copies
	code   []span            // generated code, sorted by address
}

// edge is where a thread continues if it has no stack for a hit program; its hit counts as a fault.
type edge struct {
	to   uint64
	site uint32
}

// copied is the address of a displaced instruction's copy, and of the instruction.
type copied struct {
	span
	process.Origin
	pushed bool // after the first instruction of the copy the stack has one word more
}

// marks are what the tables are to have of a patch.
type marks struct {
	trap uint64 // address of the trampoline of an int3; 0: it is a jump
	hits []hitMarks
}

// hitMarks are those of a hit program.
type hitMarks struct {
	site          uint32
	faults, edges []amd64.Fault
	clocks        []uint64
}

func newTables() *tables {
	return &tables{fault: map[uint64]uint64{}, edge: map[uint64]edge{}, clock: map[uint64]uint64{}, trap: map[uint64]uint64{}}
}

// take adds what is known of a patch.
func (t *tables) take(p *placed) {
	for _, x := range p.marks.hits {
		for _, f := range x.faults {
			t.fault[f.PC] = f.Fixup
		}
		for _, f := range x.edges {
			t.edge[f.PC] = edge{f.Fixup, x.site}
		}
		for _, pc := range x.clocks {
			t.clock[pc] = pc + rdtscLen
		}
	}
	if p.marks.trap != 0 {
		t.trap[p.plan.Addr] = p.marks.trap
	}
	t.origin = append(t.origin, p.copies()...)
	t.code = append(t.code, span{p.at, p.at + p.size})
	if p.stub != 0 {
		t.code = append(t.code, span{p.stub, p.stub + stubLen})
	}
	for _, c := range p.cold {
		t.code = append(t.code, span{c.at, c.at + c.size})
	}
}

// back returns the program's address for a pc in a copy.
func (t *tables) back(pc uint64) (o process.Origin, ok bool) {
	i := sort.Search(len(t.origin), func(i int) bool { return t.origin[i].hi > pc })
	if i == len(t.origin) || t.origin[i].lo > pc {
		return o, false
	}
	c := &t.origin[i]
	if o = c.Origin; c.pushed && pc > c.lo {
		o.SP = 8
	}
	return o, true
}

// span is a half-open interval of run-time addresses.
type span struct{ lo, hi uint64 }

type tableRef struct{ p atomic.Pointer[tables] }

func (r *tableRef) get() *tables {
	if t := r.p.Load(); t != nil {
		return t
	}
	return &tables{}
}

// add publishes the union of the present tables and t.
func (r *tableRef) add(t *tables) {
	old := r.get()
	n := &tables{
		fault: merged(old.fault, t.fault), edge: merged(old.edge, t.edge), clock: merged(old.clock, t.clock), trap: merged(old.trap, t.trap), uprobe: merged(old.uprobe, t.uprobe),
		origin: append(append([]copied(nil), old.origin...), t.origin...),
		code:   append(append([]span(nil), old.code...), t.code...),
	}
	sort.Slice(n.code, func(i, j int) bool { return n.code[i].lo < n.code[j].lo })
	sort.Slice(n.origin, func(i, j int) bool { return n.origin[i].lo < n.origin[j].lo })
	r.p.Store(n)
}

// restored records that the bytes after the first of a patch are restored.
func (r *tableRef) restored(addr uint64) {
	n := *r.get()
	n.origin = append([]copied(nil), n.origin...)
	for i := range n.origin {
		if n.origin[i].Lo == addr {
			n.origin[i].Hi = addr
		}
	}
	r.p.Store(&n)
}

// forget removes the int3 at an address.
func (r *tableRef) forget(addr uint64) {
	old := r.get()
	if _, ok := old.trap[addr]; !ok {
		return
	}
	n := *old
	n.trap = merged(old.trap, nil)
	delete(n.trap, addr)
	r.p.Store(&n)
}

// clear removes all entries: the code was removed, or the process has called exec.
func (r *tableRef) clear() { r.p.Store(&tables{}) }

func merged[T any](a, b map[uint64]T) map[uint64]T {
	m := make(map[uint64]T, len(a)+len(b))
	for k, v := range a {
		m[k] = v
	}
	for k, v := range b {
		m[k] = v
	}
	return m
}

// inCode reports whether pc lies in generated code.
func (t *tables) inCode(pc uint64) bool {
	i := sort.Search(len(t.code), func(i int) bool { return t.code[i].hi > pc })
	return i < len(t.code) && t.code[i].lo <= pc
}

// returnsToCode reports whether a stack contains an address in generated code.
func (t *tables) returnsToCode(stack []byte) bool {
	if len(t.code) == 0 {
		return false
	}
	lo, hi := t.code[0].lo, t.code[len(t.code)-1].hi
	for ; len(stack) >= 8; stack = stack[8:] {
		if w := binary.LittleEndian.Uint64(stack); w-lo < hi-lo && t.inCode(w) {
			return true
		}
	}
	return false
}
