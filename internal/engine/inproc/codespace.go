package inproc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// codeSpace is the memory in the process for generated code.
type codeSpace struct {
	code  []*region
	stubs []*stubPage
}

// region is memory of jalon for code, within a jump's reach of a module. Its first half has the code that
// runs at every hit, densely packed; its second half has the rest of the hit programs.
type region struct {
	base, size uint64
	promised   uint64 // bytes of each half that are reserved for plans
	used
	// constants are those of the code in the region, at the start of the second half: the code of all sites
	// shares their cache lines.
	constants []byte
	shared    []amd64.Constant
	written   bool
}

// constantsRoom is the room for constants, a cache line.
const constantsRoom = 64

// share gives the code of the region its constants.
func (r *region) share(values ...uint64) {
	r.constants, r.shared = r.constants[:0], nil
	for i, v := range values {
		r.constants = binary.LittleEndian.AppendUint64(r.constants, v)
		r.shared = append(r.shared, amd64.Constant{Value: v, At: r.base + r.half() + uint64(8*i)})
	}
	if len(r.constants) > constantsRoom {
		panic("BUG: too many constants")
	}
}

// used is how far the halves of a region are used.
type used struct{ hot, cold uint64 }

func (r *region) half() uint64 { return r.size / 2 }

// coldAlign is the alignment of the rarely executed parts: that of the descriptors of restartable sequences, so that
// templates fit.
const coldAlign = 32

// codeAlign is the size of a cache line: a short hit program occupies at most two lines.
const codeAlign = 64

// estimate returns an upper bound of the size of the trampoline, and of the rarely executed parts of its sites.
func (p *placed) estimate() uint64 {
	n := uint64(256)
	for _, x := range p.sites {
		n += codeBound(x.IR)
	}
	return (n + codeAlign - 1) &^ (codeAlign - 1)
}

// fixedBound is enough for what a program has that is not in its instructions: with --on-full=wait:TIME the rare part of a
// record has more than 1,800 bytes.
const fixedBound = 3 << 10

// codeBound is an upper bound of each half of a site's code: what it executes at every hit, and the rest. It may be too
// large, since address space costs nothing.
func codeBound(p *ir.Program) uint64 {
	n := uint64(fixedBound)
	for _, b := range p.Blocks {
		n += 64 + uint64(len(b.Instrs))*192
		for i := range b.Instrs {
			n += uint64(len(b.Instrs[i].Data)) * 16
			if op := b.Instrs[i].Op; op == ir.Walk || op == ir.Intern || op.Info().Result == ir.SlotResult {
				n += 1024
			}
		}
	}
	return n
}

// reach reports whether the trampoline can be anywhere in a range of memory. A punned jump reaches it
// through a stub.
func (p *placed) reach(base, size uint64) bool {
	plan := *p.plan
	if plan.Tactic == patch.Pun {
		plan.Tactic = patch.Trapping
	}
	return plan.Reach(base, int(size))
}

// needOf is the memory that the trampolines of each module need.
func needOf(plans []*placed) map[*module]uint64 {
	need := map[*module]uint64{}
	for _, p := range plans {
		need[p.mod] += p.estimate()
	}
	return need
}

// The sizes of regions: a larger one saves calls in the process, a smaller one finds room.
const (
	smallRegion = 1 << 20
	largeRegion = 64 << 20
)

// reserve reserves memory for a trampoline in a region that its site can reach. all is what the sites of each
// module need that have no memory yet.
func (m *codeSpace) reserve(st callable, p *placed, all map[*module]uint64) error {
	need := p.estimate()
	left := all[p.mod]
	all[p.mod] -= need
	for _, r := range m.code {
		if r.half()-r.promised >= need && p.reach(r.base, r.size) {
			r.promised += need
			p.region = r
			return nil
		}
	}
	least := max(2*(constantsRoom+need), smallRegion)
	var err error
	for _, size := range []uint64{max(least, min(2*(constantsRoom+left), largeRegion)), least} {
		if p.region, err = m.allocate(st, p, size); err == nil || errors.Is(err, process.ErrGone) {
			break
		}
	}
	if err == nil {
		p.region.promised += need
	}
	return err
}

// allocate makes a region near a site.
func (m *codeSpace) allocate(st callable, p *placed, size uint64) (*region, error) {
	base, err := st.AllocNear(p.plan.Addr, size)
	if err != nil {
		return nil, err
	}
	r := &region{base: base, size: size, promised: constantsRoom, used: used{cold: constantsRoom}}
	m.code = append(m.code, r)
	if !p.reach(base, size) {
		return nil, fmt.Errorf("the code at %#x refers to addresses that cannot be reached from %#x", p.plan.Addr, base)
	}
	return r, nil
}

// has reports whether an address is in the memory for code.
func (m *codeSpace) has(addr uint64) bool {
	for _, r := range m.code {
		if addr-r.base < r.size {
			return true
		}
	}
	return false
}

// release lists all regions, to be unmapped, and forgets them.
func (m *codeSpace) release() (list []process.Range) {
	for _, r := range m.code {
		list = append(list, process.Range{Addr: r.base, Size: r.size})
	}
	for _, g := range m.stubs {
		list = append(list, process.Range{Addr: g.base, Size: pageSize})
	}
	m.code, m.stubs = nil, nil
	return list
}
