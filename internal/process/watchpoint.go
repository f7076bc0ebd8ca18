package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// WatchKind is what a debug register waits for.
type WatchKind uint8

// The kinds. The CPU knows no watchpoint for reading only.
const (
	WatchExec WatchKind = iota // execution of the instruction at the address; size 1
	WatchWrite
	WatchAccess // reading or writing
)

// watchSlots is the number of debug registers for addresses.
const watchSlots = 4

// watch is the contents of one.
type watch struct {
	on   bool
	kind WatchKind
	addr uint64
	size int
}

// SetWatch sets debug register slot (0-3) in all threads, also those to come. size
// is 1, 2, 4 or 8, and addr a multiple of it.
func (p *Process) SetWatch(slot int, kind WatchKind, addr uint64, size int) error {
	op := fmt.Sprintf("watch %d bytes at %#x", size, addr)
	switch {
	case slot < 0 || slot >= watchSlots:
		return &fail.Error{Op: op, Err: fmt.Errorf("there is no debug register %d", slot)}
	case size != 1 && size != 2 && size != 4 && size != 8:
		return &fail.Error{Op: op, Err: errors.New("debug registers watch 1, 2, 4 or 8 bytes")}
	case addr%uint64(size) != 0:
		return &fail.Error{Op: op, Err: errors.New("the address is not a multiple of the size")}
	case kind == WatchExec && size != 1:
		return &fail.Error{Op: op, Err: errors.New("the size of an instruction breakpoint is 1")}
	}
	return access(op, p.breakpoints.changeWatch(slot, watch{true, kind, addr, size}))
}

// ClearWatch gives a debug register back.
func (p *Process) ClearWatch(slot int) error {
	if slot < 0 || slot >= watchSlots {
		return nil
	}
	return access("clear a watchpoint", p.breakpoints.changeWatch(slot, watch{}))
}

// changeWatch sets a slot in all threads that are stopped now, and in the others
// when they go on (see request).
func (p *breakpoints) changeWatch(slot int, w watch) error {
	return p.controlDo(func() error {
		defer p.world.thaw()
		if err := p.world.freeze(); err != nil {
			return err
		}
		p.learnOnce()
		old := p.ctl.watches[slot]
		p.ctl.watches[slot] = w
		p.ctl.gen++
		for _, t := range p.debugger.listedTasks() {
			if t.State != threads.Stopped {
				continue
			}
			if err := p.setWatches(t); err != nil && !sys.Gone(err) {
				p.ctl.watches[slot] = old
				p.ctl.gen++
				return err
			}
		}
		return nil
	})
}

// setWatches gives a stopped thread the watchpoints that there are now.
func (p *breakpoints) setWatches(t *task) error {
	t.dbg.gen = p.ctl.gen
	if !p.threads.Listed(t) || t.Copy {
		return nil
	}
	if err := sys.PokeDebug(t.TID, sys.DR7, 0); err != nil {
		return err
	}
	control := uint64(0)
	for i, w := range p.ctl.watches {
		if !w.on {
			continue
		}
		if err := sys.PokeDebug(t.TID, i, w.addr); err != nil {
			return err
		}
		control |= w.control(i)
	}
	if control == 0 {
		return nil
	}
	return sys.PokeDebug(t.TID, sys.DR7, control)
}

// control is the watch's part of DR7 (Intel SDM vol. 3, 18.2.4): the local enable
// bit, the kind and the length.
func (w watch) control(slot int) uint64 {
	rw := [...]uint64{WatchExec: 0, WatchWrite: 1, WatchAccess: 3}[w.kind]
	length := map[int]uint64{1: 0, 2: 1, 4: 3, 8: 2}[w.size]
	return 1<<(2*slot) | (length<<2|rw)<<(16+4*slot)
}

// watchTrap handles the debug registers that have triggered.
func (p *breakpoints) watchTrap(t *task, regs *Regs) bool {
	if !p.threads.Listed(t) || t.Copy || p.ctl.gen == 0 {
		return false
	}
	status := sys.PeekDebug(t.TID, sys.DR6)
	if status&(1<<watchSlots-1) == 0 {
		return false
	}
	_ = sys.PokeDebug(t.TID, sys.DR6, 0) // ESRCH: dying
	p.dispositions.repair(t, unix.SIGTRAP)
	for i, w := range p.ctl.watches {
		if status>>i&1 == 0 || !w.on {
			continue
		}
		why := Stop{Kind: StopWatch, Addr: w.addr, Slot: i}
		if w.kind == WatchExec {
			why.Kind = StopHardwareBreak
		}
		if t.dbg.why == nil {
			p.debugger.stopFor(t, why)
		}
		break // one is reported
	}
	return true // of one that was cleared meanwhile: not the program's either
}
