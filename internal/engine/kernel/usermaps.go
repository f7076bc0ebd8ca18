package kernel

import (
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/event"
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

// Hit reports the address of a process's hit before its stack is unwound.
func (e *Engine) Hit(ev *event.Event, pc uint64) { e.learn(ev, pc) }
