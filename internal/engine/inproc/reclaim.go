package inproc

import (
	"slices"
	"time"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/sema"
)

// A map of entries keeps the slot of a frame that has returned, because the next call often has a frame there. Threads that
// come and go, and recursion, have ever new ones. Before the map is full, all threads are stopped for a moment; if none
// of them is in a hit program, or in a handler that interrupted one, the slots of frames that are gone are given back: of
// calls that have returned, and of those whose stack is not mapped any more. In the same way keys that a script deletes keep their
// slots, which are given back before the map is full.

// reclaimer gives slots of maps back: of those of entries, and of those of the session without cells.
type reclaimer struct {
	target  *target
	tables  *tableRef
	patches *patches
	entries *entries
	buffers *buffers

	next  time.Time
	delay time.Duration // since the last time that gave little
	at    uint64        // the first slot of the next sample
}

const (
	reclaimEvery = 10 * time.Millisecond
	reclaimMost  = 10 * time.Second
	sampled      = 256 // slots of a map that are looked at each time
)

// Reclaim gives back slots of maps that are half full. It is to be called again and again.
func (r *reclaimer) Reclaim() error {
	now := time.Now()
	if r.buffers.mem == nil || now.Before(r.next) {
		return nil
	}
	r.next = now.Add(max(reclaimEvery, r.delay))
	full, slots, err := r.crowded()
	if err != nil || len(full) == 0 {
		return err
	}
	var used, done int
	err = r.target.stopped(func(st *process.Stopped) error {
		quiet, err := r.quiet(st)
		if err != nil || !quiet {
			return err
		}
		mapped, err := st.Maps()
		if err != nil {
			return err
		}
		done = 1
		used, err = r.compact(full, mapped)
		return err
	})
	switch {
	case err != nil || done == 0: // try again
	case used > slots/4:
		r.delay = min(max(2*r.delay, time.Second), reclaimMost)
	default:
		r.delay = 0
	}
	return err
}

// crowdedTable is a map of entries, or one of the session.
type crowdedTable struct {
	maps.Table
	frames bool // the first word of a key is the address of a frame
}

// crowded lists the maps of whose slots half are taken, by a sample, and counts their slots; of those of the session, one in eight
// slots must be that of a deleted key.
func (r *reclaimer) crowded() (full []crowdedTable, slots int, err error) {
	defer r.buffers.mem.Guard(&err)()
	seen := map[any]bool{}
	for _, en := range r.entries.list {
		if seen[en.Key] {
			continue
		}
		seen[en.Key] = true
		for _, t := range r.buffers.entriesOf(en.Program) {
			if r.buffers.reader(t).Used(r.at, sampled) >= sampled/2 {
				full = append(full, crowdedTable{t, !en.Site.(*Site).ofGo()})
				slots += t.Slots
			}
		}
	}
	for _, t := range r.buffers.sharedTables() {
		if m := r.buffers.reader(t); m.Used(r.at, sampled) >= sampled/2 && m.Deleted(r.at, sampled) >= sampled/8 {
			full = append(full, crowdedTable{t, false})
			slots += t.Slots
		}
	}
	r.at += sampled
	return full, slots, nil
}

// compact gives the slots of maps back, with the threads stopped outside of hit programs.
func (r *reclaimer) compact(list []crowdedTable, mapped []process.Mapping) (used int, err error) {
	defer r.buffers.mem.Guard(&err)()
	for _, t := range list {
		used += r.buffers.reader(t.Table).Compact(func(key []uint64) bool {
			return !t.frames || slices.ContainsFunc(mapped, func(m process.Mapping) bool { return key[0]-m.Start < m.End-m.Start })
		})
	}
	return used, nil
}

// quiet reports whether no thread is in a hit program, or in a handler of a signal that interrupted one.
func (r *reclaimer) quiet(st *process.Stopped) (bool, error) {
	threads, err := st.Threads()
	if err != nil {
		return false, err
	}
	tab, stacks := r.tables.get(), st.Stacks()
	for _, t := range threads {
		if inHit(tab, r.patches, t.Regs.PC()) || tab.returnsToCode(stacks.WithRedZone(t.Regs.SP())) {
			return false, nil
		}
	}
	return true, nil
}

// entriesOf lists the maps of entries that a program has.
func (b *buffers) entriesOf(x *engine.Program) (list []maps.Table) {
	b.tablesLock.Lock()
	defer b.tablesLock.Unlock()
	for n := range x.IR.Maps {
		if t, has := b.tables.of[nameOf(x, n)]; has && !x.IR.Maps[n].Shared && x.IR.Maps[n].Name == sema.EntriesMap {
			list = append(list, t)
		}
	}
	return list
}

// sharedTables lists the session's maps whose slots can be given back.
func (b *buffers) sharedTables() (list []maps.Table) {
	b.tablesLock.Lock()
	defer b.tablesLock.Unlock()
	for _, name := range b.tables.shared {
		if t := b.tables.of[tableName{shared: name}]; t.Sets == 0 && !t.Single {
			list = append(list, t)
		}
	}
	return list
}

// reader reads a map.
func (b *buffers) reader(t maps.Table) *maps.Reader {
	return maps.NewReader(t.Shape, b.mem.Bytes(t.Addr-b.base, t.Bytes()))
}
