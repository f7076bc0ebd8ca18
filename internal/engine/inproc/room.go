package inproc

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// rooms is the memory in the process that generated code lies in.
type rooms struct {
	code  []*region
	stubs []*stubPage
}

// region is memory of ours for code, within a jump's reach of a module. Its first
// half holds what runs at every hit, densely; its second half the rest of the hit
// programs.
type region struct {
	base, size uint64
	promised   uint64 // bytes of either half that plans may fill
	hot, cold  uint64 // filled so far
}

func (r *region) half() uint64 { return r.size / 2 }

// codeAlign is a cache line: a short hit program stays within two.
const codeAlign = 64

// estimate bounds the size of the trampoline from above.
func (p *placed) estimate() uint64 {
	n := uint64(256)
	for _, x := range p.sites {
		n += codeBound(x.IR)
	}
	return (n + codeAlign - 1) &^ (codeAlign - 1)
}

// codeBound is generous: address space costs nothing.
func codeBound(p *ir.Program) uint64 {
	n := uint64(1024)
	for _, b := range p.Blocks {
		n += 64 + uint64(len(b.Instrs))*192
		for i := range b.Instrs {
			n += uint64(len(b.Instrs[i].Data)) * 16
		}
	}
	return n
}

// reach reports whether the trampoline can lie anywhere in a stretch of memory. A
// punned jump comes to it by way of a stub.
func (p *placed) reach(base, size uint64) bool {
	plan := *p.plan
	if plan.Tactic == patch.Pun {
		plan.Tactic = patch.Trapping
	}
	return plan.Reach(base, int(size))
}

// reserve promises a trampoline room in a region that its site can reach.
func (m *rooms) reserve(st *process.Stopped, p *placed) error {
	need := p.estimate()
	for _, r := range m.code {
		if r.half()-r.promised >= need && p.reach(r.base, r.size) {
			r.promised += need
			p.room = r
			return nil
		}
	}
	size := max(2*need, 1<<20)
	base, err := st.AllocNear(p.plan.Addr, size)
	if err != nil {
		return err
	}
	r := &region{base: base, size: size, promised: need}
	m.code = append(m.code, r)
	if !p.reach(base, size) {
		return fmt.Errorf("the code at %#x refers to what cannot be reached from %#x", p.plan.Addr, base)
	}
	p.room = r
	return nil
}

// has reports whether an address is in the memory for code.
func (m *rooms) has(addr uint64) bool {
	for _, r := range m.code {
		if addr-r.base < r.size {
			return true
		}
	}
	return false
}

// free unmaps all of it. No thread may be in it.
func (m *rooms) free(st *process.Stopped) error {
	for _, r := range m.code {
		if err := st.Free(r.base, r.size); err != nil {
			return err
		}
	}
	for _, g := range m.stubs {
		if err := st.Free(g.base, pageSize); err != nil {
			return err
		}
	}
	m.code, m.stubs = nil, nil
	return nil
}
