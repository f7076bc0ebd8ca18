package process

import (
	"errors"
	"fmt"

	cpu "github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/runcontrol"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// ErrNoDebugRegisters: what they are set to has no effect, so that a watchpoint would never be hit.
var ErrNoDebugRegisters = errors.New("the debug registers of this machine have no effect")

// SetWatch sets debug register slot (0-3) in all threads, also those to come. size
// is 1, 2, 4 or 8, and addr a multiple of it.
func (p *Process) SetWatch(slot int, kind WatchKind, addr uint64, size int) error {
	op := fmt.Sprintf("watch %d bytes at %#x", size, addr)
	switch {
	case slot < 0 || slot >= runcontrol.WatchSlots:
		return &fail.Error{Op: op, Err: fmt.Errorf("there is no debug register %d", slot)}
	case size != 1 && size != 2 && size != 4 && size != 8:
		return &fail.Error{Op: op, Err: errors.New("debug registers watch 1, 2, 4 or 8 bytes")}
	case addr%uint64(size) != 0:
		return &fail.Error{Op: op, Err: errors.New("the address is not a multiple of the size")}
	case kind == WatchExec && size != 1:
		return &fail.Error{Op: op, Err: errors.New("the size of an instruction breakpoint is 1")}
	case !cpu.DebugRegisters():
		return &fail.Error{Op: op, Err: ErrNoDebugRegisters, Remedy: "in GDB: set can-use-hw-watchpoints 0"}
	}
	return access(op, p.breakpoints.changeWatch(slot, runcontrol.Watch{On: true, Kind: kind, Addr: addr, Size: size}))
}

// ClearWatch gives a debug register back.
func (p *Process) ClearWatch(slot int) error {
	if slot < 0 || slot >= runcontrol.WatchSlots {
		return nil
	}
	return access("clear a watchpoint", p.breakpoints.changeWatch(slot, runcontrol.Watch{}))
}

// changeWatch sets a slot in all threads that are stopped now, and in the others
// when they go on (see request).
func (p *breakpoints) changeWatch(slot int, w runcontrol.Watch) error {
	return p.controlDo(func() error {
		defer p.world.thaw()
		if err := p.world.freeze(); err != nil {
			return err
		}
		p.learnOnce()
		m := p.ctl.machine
		old := m.Watches[slot]
		m.Watches[slot] = w
		m.Gen++
		for _, t := range p.debugger.listedTasks() {
			if t.State != threads.Stopped {
				continue
			}
			if err := p.setWatches(t); err != nil && !sys.Gone(err) {
				m.Watches[slot] = old
				m.Gen++
				return err
			}
		}
		return nil
	})
}

// setWatches gives a stopped thread the watchpoints that there are now.
func (p *breakpoints) setWatches(t *task) error {
	t.dbg.Gen = p.ctl.machine.Gen
	if !p.threads.Listed(t) || t.Copy {
		return nil
	}
	if err := sys.PokeDebug(t.TID, sys.DR7, 0); err != nil {
		return err
	}
	control := uint64(0)
	for i, w := range p.ctl.machine.Watches {
		if !w.On {
			continue
		}
		if err := sys.PokeDebug(t.TID, i, w.Addr); err != nil {
			return err
		}
		control |= debugControl(w, i)
	}
	if control == 0 {
		return nil
	}
	return sys.PokeDebug(t.TID, sys.DR7, control)
}

// debugControl is a watch's part of DR7 (Intel SDM vol. 3, 18.2.4): the local enable
// bit, the kind and the length.
func debugControl(w runcontrol.Watch, slot int) uint64 {
	rw := [...]uint64{WatchExec: 0, WatchWrite: 1, WatchAccess: 3}[w.Kind]
	length := map[int]uint64{1: 0, 2: 1, 4: 3, 8: 2}[w.Size]
	return 1<<(2*slot) | (length<<2|rw)<<(16+4*slot)
}
