package session

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/sema"
)

// tables is what is done about the tables of maps from time to time.
type tables struct {
	deleted deleted
	rooms   rooms
}

func (t *tables) tend(s *Session) {
	t.deleted.tend(s)
	t.rooms.tend(s)
}

// deleted gives the slots of deleted keys back, in tables that programs of the kernel use, while hits go on: 9 to 14 of the protocol of package maps.
type deleted struct {
	waiting []waitingTable
	at      uint64 // the first slot of the next sample
	off     bool   // it is not possible
}

// waitingTable has slots that are given back when no hit uses them any more.
type waitingTable struct {
	name    string
	retired int                    // slots
	over    []func() (bool, error) // of the engines that use the table
}

// sampled is how many slots of a table are looked at each time.
const sampled = 256

// tend is called every few milliseconds.
func (d *deleted) tend(s *Session) {
	if d.off || s.kern.Engine == nil {
		return
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(w waitingTable) bool { return d.over(s, &w) })
	err := s.kern.Engine.Maps(func(name string, r *maps.Reader) {
		if r.Shape().Reuse && !slices.ContainsFunc(d.waiting, func(w waitingTable) bool { return w.name == name }) && d.crowded(r) {
			d.retire(s, name, r)
		}
	})
	d.fail(s, err)
	d.at += sampled
}

// crowded reports whether, by a sample, one in eight slots is taken, and one in sixteen is that of a deleted key: early, since jalon may have to wait for a processor.
func (d *deleted) crowded(r *maps.Reader) bool {
	n := uint64(min(sampled, r.Shape().Slots))
	return r.Used(d.at, n) >= (n+7)/8 && r.Deleted(d.at, n) >= (n+15)/16
}

// retire begins to give back the slots of a table.
func (d *deleted) retire(s *Session, name string, r *maps.Reader) {
	w := waitingTable{name: name, retired: r.RetireDeleted()}
	over, err := s.kern.Engine.Grace()
	if w.over = append(w.over, over); err == nil && sharesTable(s, name) {
		over, err = s.mine.Engine.Grace()
		w.over = append(w.over, over)
	}
	if d.fail(s, err); err == nil {
		d.waiting = append(d.waiting, w)
	}
}

// sharesTable reports whether sites in the process use a table of the kernel engine.
func sharesTable(s *Session, name string) bool {
	return s.corrected && slices.ContainsFunc(s.opt.maps(true), func(m *sema.Map) bool { return m.Name == name })
}

// over gives slots back if no hit uses them any more.
func (d *deleted) over(s *Session, w *waitingTable) bool {
	for len(w.over) > 0 {
		over, err := w.over[0]()
		if arming.IsEnd(err) { // the process has ended, and has no more hits
			over, err = true, nil
		}
		if d.fail(s, err); err != nil || !over {
			return err != nil
		}
		w.over = w.over[1:]
	}
	d.fail(s, s.kern.Engine.Maps(func(name string, r *maps.Reader) {
		if name == w.name {
			s.logf("the map %s: %d of %d slots of deleted keys are given back", name, r.FreeDeleted(), w.retired)
		}
	}))
	return true
}

// fail ends giving slots back.
func (d *deleted) fail(s *Session, err error) {
	if err != nil && !d.off {
		d.off = true
		s.logf("slots of deleted keys are not given back: %v", err)
	}
}
