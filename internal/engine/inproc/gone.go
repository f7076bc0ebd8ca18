package inproc

import (
	"bytes"
	"slices"

	"github.com/jalon-trace/jalon/internal/process"
)

// setPlaced changes the list while the process runs and may fork: Forked reads it
// on the tracer's goroutine. (While it is stopped the list changes there.)
func (e *Engine) setPlaced(list []*placed) {
	e.placedMu.Lock()
	e.placed = list
	e.placedMu.Unlock()
}

// reuse gives a site the number of one that it replaces after its library was
// unloaded and loaded again: the counts go on, and numbers do not run out.
func (e *Engine) reuse(x *site) bool {
	i := e.replaces(x)
	if i < 0 {
		return false
	}
	x.id = e.retired[i].id
	e.sites[x.id] = x
	e.retired = append(e.retired[:i:i], e.retired[i+1:]...)
	return true
}

// replaces is the index in retired of the site that x replaces; -1: none.
func (e *Engine) replaces(x *site) int {
	return slices.IndexFunc(e.retired, func(old *site) bool {
		return old.Key == x.Key && old.where.Same(x.where) &&
			old.Schema.RecordSize == x.Schema.RecordSize && old.Schema.ShortSize == x.Schema.ShortSize
	})
}

// ours reports whether the bytes at an edit still are those that were written: a
// library may have been unloaded unseen, and another be there now.
func ours(st *process.Stopped, addr uint64, written []byte) bool {
	now := make([]byte, len(written))
	return st.ReadMem(addr, now) == nil && bytes.Equal(now, written)
}
