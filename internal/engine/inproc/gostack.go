package inproc

import (
	"fmt"
	"sync"

	"github.com/jalon-trace/jalon/internal/engine/results"
	"github.com/jalon-trace/jalon/internal/patch"
)

// Below a goroutine's stack there is no guard page but other memory, possibly another goroutine's stack. A
// hit program that needs more stack than Go guarantees at its site (see patch.GoStack) does not run in the
// process; uprobes of the kernel need no stack of the program.

// goStack returns the stack that Go guarantees in the module's code; nil if the module has no Go code.
func (m *module) goStack() (*patch.GoStack, error) {
	m.stackOnce.Do(func() {
		m.stack = sync.OnceValues(func() (*patch.GoStack, error) {
			if !m.dw.IsGo() {
				return nil, nil
			}
			table, start, err := m.dw.GoTable()
			if err != nil {
				return nil, err
			}
			code, err := results.Code(m.dw)
			if err != nil {
				return nil, err
			}
			for _, r := range code {
				if start >= r.Addr && start < r.Addr+uint64(len(r.Bytes)) {
					return patch.NewGoStack(table, r, start)
				}
			}
			return nil, fmt.Errorf("there is no code at %#x", start)
		})
	})
	return m.stack()
}

// stackFor returns why code that stores up to need bytes below the stack pointer must not run at an
// address, or nil.
func (m *module) stackFor(addr uint64, need int) error {
	if need == 0 {
		return nil
	}
	g, err := m.goStack()
	if err != nil {
		return fmt.Errorf("the free stack of goroutines at %#x is unknown: %w", addr, err)
	}
	if g == nil {
		return nil
	}
	if room, known := g.Room(addr - m.bias); known && int64(need) > room {
		return fmt.Errorf("Go guarantees %d bytes of stack at %#x, and the code there would use %d: another goroutine's memory may lie below", room, addr, need)
	}
	return nil
}

// apartForStack removes the plans whose code would need too much stack. Their sites become uprobes if
// permitted; otherwise they are refused.
func (u *uprober) apartForStack(plans []*placed) (kept []*placed) {
	for _, p := range plans {
		if p.noStack == nil {
			kept = append(kept, p)
			continue
		}
		if u.opt.Avoid != 0 { // no uprobes if the user forbids tactics
			u.sites.refuseAll(p, p.noStack)
			continue
		}
		for i, err := range u.asUprobes(p.sites) {
			if err != nil {
				u.sites.refuse(p.sites[i], fmt.Errorf("%w; a uprobe is not possible: %w", p.noStack, err))
			}
		}
	}
	return kept
}
