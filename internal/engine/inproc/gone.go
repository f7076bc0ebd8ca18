package session

import (
	"bytes"
	"slices"

	"github.com/jalon-trace/jalon/internal/process"
)

// forgetGone drops what was placed in libraries that the program has unloaded:
// their bytes are gone, and a library that comes to lie there later is none of
// ours. Their tracepoints look for places again. The thread that changed the list
// of libraries waits meanwhile.
func (s *Session) forgetGone() {
	there := map[*module]bool{}
	for _, m := range s.mods {
		there[m] = true
	}
	s.forgetUprobes(there)
	var kept []*placed
	for _, p := range s.placed {
		if there[p.mod] {
			kept = append(kept, p)
			continue
		}
		for _, x := range p.sites {
			x.tp.sites--
			s.retired = append(s.retired, x)
			s.logf("site %d: %s is gone with %s", x.id, x.tp.Place.Text, p.mod.path)
		}
		s.tables.forget(p.plan.Addr)
	}
	if len(kept) == len(s.placed) {
		return
	}
	s.setPlaced(kept)
	s.poll() // what is in the rings belongs to the sites as they were
}

// setPlaced changes the list while the process runs and may fork: onFork reads it
// on the tracer's goroutine. (While it is stopped the list changes there.)
func (s *Session) setPlaced(list []*placed) {
	s.placedMu.Lock()
	s.placed = list
	s.placedMu.Unlock()
}

// reuse gives a site the number of one that it replaces after its library was
// unloaded and loaded again: the counts go on, and numbers do not run out.
func (s *Session) reuse(x *site) bool {
	i := s.replaces(x)
	if i < 0 {
		return false
	}
	x.id = s.retired[i].id
	s.sites[x.id] = x
	s.retired = append(s.retired[:i:i], s.retired[i+1:]...)
	return true
}

// replaces is the index in retired of the site that x replaces; -1: none.
func (s *Session) replaces(x *site) int {
	return slices.IndexFunc(s.retired, func(old *site) bool {
		return old.tp == x.tp && old.where.mod.path == x.where.mod.path && old.where.site.Addr == x.where.site.Addr &&
			old.schema.RecordSize == x.schema.RecordSize && old.schema.ShortSize == x.schema.ShortSize
	})
}

// ours reports whether the bytes at an edit still are those that were written: a
// library may have been unloaded unseen, and another be there now.
func ours(st *process.Stopped, addr uint64, written []byte) bool {
	now := make([]byte, len(written))
	return st.ReadMem(addr, now) == nil && bytes.Equal(now, written)
}

// CloseModules closes the files of the process's modules where no other run follows.
func (r *Run) CloseModules() {
	for _, m := range r.s.mods {
		if m.dw != nil {
			_ = m.dw.Close() // it was only read
		}
	}
	r.s.mods = nil
}
