package kernel

import (
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
)

// learn takes from a hit of a uprobe where the site's file is mapped, when the process
// is gone and nothing else is known of it. pc is where it was hit.
func (e *Engine) learn(ev *event.Event, pc uint64) {
	if int(ev.Schema.SiteID) >= len(e.programs) {
		return
	}
	t := &e.programs[ev.Schema.SiteID].at.v.target
	if t.Kind == bpf.Uprobe { // at a return pc is the caller's
		e.user.Learn(ev.Pid, t.Path, t.FileOffset, pc)
	}
}

// Module is the file that a process has mapped at an address, and how far from its
// own addresses; nil when it is not known.
func (e *symbols) Module(ev *event.Event, addr uint64) (*dwarf.Module, uint64) {
	return e.user.File(ev.Pid, addr)
}

// UserFrames names the return addresses of a process's stack, which were found by
// unwinding it.
func (e *symbols) UserFrames(ev *event.Event, pcs []uint64) (out []format.Frame) {
	for i, pc := range pcs {
		out = append(out, e.user.Frames(ev.Pid, pc, i > 0)...)
	}
	return out
}

// Hit reports the address of a process's hit before its stack is unwound.
func (e *Engine) Hit(ev *event.Event, pc uint64) { e.learn(ev, pc) }
