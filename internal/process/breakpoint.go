package process

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
)

// InsertBreak puts an int3 at an address, if there is none of ours yet. Threads may run: it is one byte. If
// the int3 is missing it is written again: a parent's RemoveBreak also removes that of a vfork child, which
// uses the same memory.
func (p *Process) InsertBreak(addr uint64) error {
	return p.controlDo(func() error {
		if p.ctl.machine.Breaks[addr] {
			if p.breakpoints.isInt3(addr) {
				return nil
			}
			delete(p.space.Breaks, addr)
		}
		p.breakpoints.learnOnce()
		if _, ok := p.space.Breaks[addr]; !ok {
			var b [1]byte
			err := p.space.Read(addr, b[:])
			if err == nil {
				err = p.space.WriteRaw(addr, []byte{memory.Int3})
			}
			if err != nil {
				return access(fmt.Sprintf("insert a breakpoint at %#x", addr), err)
			}
			p.space.Breaks[addr] = b[0]
		}
		p.ctl.machine.Breaks[addr] = true
		delete(p.ctl.machine.Removed, addr)
		return nil
	})
}

// RemoveBreak removes the int3. A hit that is not reported yet will not be reported.
func (p *Process) RemoveBreak(addr uint64) error {
	return p.controlDo(func() error {
		if !p.ctl.machine.Breaks[addr] {
			return nil
		}
		if p.linker.modules.addr != addr { // else it stays for that
			err := p.space.WriteRaw(addr, []byte{p.space.Breaks[addr]})
			if err != nil && err != ErrGone && p.breakpoints.isInt3(addr) {
				return access(fmt.Sprintf("remove the breakpoint at %#x", addr), err)
			}
			delete(p.space.Breaks, addr) // where the memory is gone, so is the int3
		}
		p.ctl.machine.BreakGone(addr)
		return nil
	})
}

// HasBreak reports whether a breakpoint of InsertBreak is at an address.
func (p *Process) HasBreak(addr uint64) (has bool) {
	_ = p.do(func() error { has = p.ctl != nil && p.ctl.machine.Breaks[addr]; return nil }) // ErrGone: it has none
	return has
}

// learnOnce reads the actions of the signals that breakpoints and steps raise, before the first of them: in a
// thread that blocks or ignores SIGTRAP such a signal resets the action (repair.go).
func (p *breakpoints) learnOnce() {
	if p.ctl.learnt {
		return
	}
	p.ctl.learnt = true
	defer p.world.thaw()
	if p.world.freeze() == nil {
		p.dispositions.learnActions()
	}
}

// liftBreaks takes the breakpoints out of an address space: the process's, or a
// copy of it.
func (p *breakpoints) liftBreaks(sp *inject.Workspace) {
	if p.ctl == nil {
		return
	}
	for addr := range p.ctl.machine.Breaks {
		if p.linker.modules.addr == addr {
			continue
		}
		var b [1]byte
		if sp.ReadRaw(addr, b[:]) == nil && b[0] == memory.Int3 {
			_ = sp.WriteRaw(addr, []byte{p.space.Breaks[addr]}) // an error: the memory is gone
		}
		if sp == p.space {
			delete(sp.Breaks, addr)
		}
	}
	if sp == p.space {
		clear(p.ctl.machine.Breaks)
	}
}
