package runner

import (
	"context"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/session"
)

// tableOf is the table of a map in one of the engines.
type tableOf struct {
	name   string
	kernel bool
}

// cellMaps is what jalon has of maps with cells beside their tables. siteMaps.mu guards it.
//
// A probe that clears such a map makes what the map had when it was loaded count as nothing: hits go on to add, and none of what they add is lost. When a
// table has become crowded, the slots of keys to which nothing was added since then are given back, by the protocol of package maps.
type cellMaps struct {
	// more is what a key has beside what its slots have: what slots had that were given back, less what was there when the map was cleared.
	more map[tableOf]maps.Merged
	// loaded is what keys had when the map was loaded last, gone what those of ended threads had, also of maps without cells.
	loaded map[tableOf]maps.Merged
	gone   map[string]maps.Merged
	// waiting are slots that are being given back. kept are the engines in which that is not possible.
	waiting []waitingSlots
	kept    map[bool]bool
}

// waitingSlots are slots that nothing finds, and that are given back when no hit uses them any more.
type waitingSlots struct {
	tableOf
	maps.Returned
	over func() (bool, error)
}

func newCellMaps() cellMaps {
	return cellMaps{more: map[tableOf]maps.Merged{}, loaded: map[tableOf]maps.Merged{}, gone: map[string]maps.Merged{}, kept: map[bool]bool{}}
}

// loadTable reads a table. What jalon has beside it, and what ended threads had, is of the same moment.
func (m *siteMaps) loadTable(of tableOf, r *maps.Reader, d *sema.Map) maps.Merged {
	m.mu.Lock()
	defer m.mu.Unlock()
	table := m.cells.table(of, r, d)
	if d.Kind != sema.MapNumber {
		m.cells.loaded[of] = table
	}
	if !of.kernel {
		m.loadEnded(d)
	}
	return table
}

// table is what a table has, with what jalon has beside it.
func (c *cellMaps) table(of tableOf, r *maps.Reader, d *sema.Map) maps.Merged {
	table := maps.Merged{}
	table.Add(r, d.Sums())
	table.AddAll(c.more[of], d.Sums())
	return table
}

// loadEnded notes what ended threads had.
func (m *siteMaps) loadEnded(d *sema.Map) {
	of := maps.Merged{}
	of.AddAll(m.retired[d.Name], d.Sums())
	m.cells.gone[d.Name] = of
}

// ended: what jalon has for a key of a thread that has ended counts for another key from now on, of all.
func (c *cellMaps) ended(d *sema.Map, old, key []uint64, all maps.Merged) {
	of := tableOf{d.Name, false}
	if t := c.more[of].Remove(old); t != nil {
		all.Put(key, t.Value, false, d.Sums(), true)
	}
	if t := c.loaded[of].Remove(old); t != nil {
		c.gone[d.Name].Put(key, t.Value, false, d.Sums(), true)
	}
}

// clearCells clears a map.
func (s *running) clearCells(d *sema.Map) {
	s.maps.lessLoaded(d)
	_ = s.sess.Look(context.Background(), func() { s.retire(d) }) // an error: the session has ended, and no hit needs room
}

// lessLoaded takes what a map had when it was loaded from what it has.
func (m *siteMaps) lessLoaded(d *sema.Map) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, kernel := range []bool{false, true} {
		of := tableOf{d.Name, kernel}
		if m.cells.more[of] == nil {
			m.cells.more[of] = maps.Merged{}
		}
		m.cells.more[of].Less(m.cells.loaded[of])
		delete(m.cells.loaded, of) // it may be cleared again before it is loaded
	}
	if all := m.retired[d.Name]; all != nil {
		all.Less(m.cells.gone[d.Name])
	}
	delete(m.cells.gone, d.Name)
}

// retire begins to give back the slots of a map's keys that have nothing, where the table is crowded.
func (s *running) retire(d *sema.Map) {
	m := s.maps
	_ = s.sess.Maps(func(name string, r *maps.Reader, kernel bool) { // an error: the process has ended, and there are no more hits
		if name != d.Name || len(d.Key) == 0 || m.cells.kept[kernel] || !r.Crowded() {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		of := tableOf{name, kernel}
		table := m.cells.table(of, r, d)
		slots := r.Retire(func(key []uint64) bool {
			t := table.Of(key)
			return t != nil && t.Zero()
		})
		if slots.Len() == 0 {
			return
		}
		over, err := session.Grace(s.sess, kernel)
		if err != nil {
			s.keep(kernel, err)
			return
		}
		m.cells.waiting = append(m.cells.waiting, waitingSlots{of, slots, over})
	})
}

// keep ends giving back slots in an engine.
func (s *running) keep(kernel bool, why error) {
	s.maps.cells.kept[kernel] = true
	if s.opt.Log != nil {
		s.opt.Log(fmt.Sprintf("slots of maps are not given back: %v", why))
	}
}

// giveBack gives back the slots that no hit uses any more. It is called every few milliseconds.
func (s *running) giveBack() {
	c := &s.maps.cells
	for len(c.waiting) > 0 {
		switch over, err := c.waiting[0].over(); {
		case err != nil:
			s.keep(c.waiting[0].kernel, err)
		case !over:
			return
		default:
			s.maps.free(s.sess, c.waiting[0])
		}
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
}

// free gives slots back.
func (m *siteMaps) free(sess *session.Session, w waitingSlots) {
	d := m.decls[w.name]
	_ = sess.Maps(func(name string, r *maps.Reader, kernel bool) { // an error: the process has ended, and there are no more hits
		if name != w.name || kernel != w.kernel {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		r.Free(w.Returned, d.Sums(), func(key, value []uint64) { m.cells.more[w.tableOf].Gain(key, value, d.Sums()) })
	})
}
