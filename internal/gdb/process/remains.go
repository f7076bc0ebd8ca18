package process

import (
	"cmp"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
)

// remains are the registers of stopped threads as GDB has seen them. A process that is
// killed from outside while it is stopped is shown with them until GDB resumes it and
// gets its end, as from gdbserver: GDB looks at its threads before.
type remains struct {
	mu   sync.Mutex
	regs map[stub.ThreadID]rsp.Registers
}

func (r *remains) keep(id stub.ThreadID, regs rsp.Registers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.regs == nil {
		r.regs = map[stub.ThreadID]rsp.Registers{}
	}
	r.regs[id] = regs
}

func (r *remains) get(id stub.ThreadID) (regs rsp.Registers, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	regs, ok = r.regs[id]
	return regs, ok
}

func (r *remains) has(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.regs {
		if id.PID == pid {
			return true
		}
	}
	return false
}

// forget is for threads that run, or whose registers were changed.
func (r *remains) forget(gone func(stub.ThreadID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.regs {
		if gone(id) {
			delete(r.regs, id)
		}
	}
}

// missing lists the threads that are not in a list.
func (r *remains) missing(list []stub.Thread) (out []stub.ThreadID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.regs {
		if !slices.ContainsFunc(list, func(x stub.Thread) bool { return x.ID == id }) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b stub.ThreadID) int { return cmp.Or(a.PID-b.PID, a.TID-b.TID) })
	return out
}

// remaining are the threads of ended processes beside those in a list.
func (t *Target) remaining(list []stub.Thread) (out []stub.Thread) {
	for _, id := range t.remains.missing(list) {
		if t.ended(id.PID) {
			out = append(out, stub.Thread{ID: id, Stopped: true})
		}
	}
	return out
}

// EndTold implements stub.Target.
func (r *remains) EndTold(pid int) {
	r.forget(func(id stub.ThreadID) bool { return id.PID == pid })
}

// ended reports whether a process has ended, or is on its way out, since it was reported to GDB
// that it is stopped.
func (t *Target) ended(pid int) bool {
	if !t.stopped {
		return false
	}
	pr, err := t.find(pid)
	return err != nil && t.remains.has(pid) || err == nil && pr.p.Ending()
}
