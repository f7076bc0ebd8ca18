package event

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Threads finds the thread of a record. Records contain the thread pointer (fs base). The C library reuses the
// thread pointer of a thread that has ended, so the time of the record decides between threads. Threads that
// share one (clone without CLONE_SETTLS) cannot be told apart while they do.
type Threads struct {
	mu      sync.RWMutex
	byTP    map[uint64][]owner  // in order of from
	byTid   map[int]uint64      // the thread pointer of each living thread
	living  map[uint64][]Thread // by thread pointer
	changes atomic.Uint64       // of the results of Lookup
}

type owner struct {
	Thread           // Tid 0: several threads
	from, to  uint64 // TSC; to is forever while it lives
	inherited bool   // the name is that of the thread that started it: see Named
}

const forever = ^uint64(0)

// Thread is a thread as far as it is known.
type Thread struct {
	Tid  int
	Comm string
}

// NewThreads returns an empty table.
func NewThreads() *Threads {
	return &Threads{byTP: map[uint64][]owner{}, byTid: map[int]uint64{}, living: map[uint64][]Thread{}}
}

// Born reports that the thread has this thread pointer from tsc on: at its birth, when jalon attaches (tsc 0:
// it always had it), or when its thread pointer changes. A further call with another comm renames the thread
// from tsc on.
func (t *Threads) Born(tid int, tp uint64, comm string, tsc uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.born(tid, tp, comm, tsc)
}

// Started is Born for a thread whose name is still the one of the thread that has started it: it usually sets its
// own at once. Named corrects it.
func (t *Threads) Started(tid int, tp uint64, comm string, tsc uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.born(tid, tp, comm, tsc)
	if o := t.alone(tid); o != nil {
		o.inherited = true
	}
}

// Inherits reports whether a living thread still has the name that it had at its birth because that has not
// been read again.
func (t *Threads) Inherits(tid int) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	o := t.alone(tid)
	return o != nil && o.inherited
}

// Named reports a name that was read after the birth of a thread. The first such name counts from the birth on.
// Unknown threads are ignored, and those of which the name is known already.
func (t *Threads) Named(tid int, comm string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.alone(tid)
	if o == nil || !o.inherited || comm == "" {
		return
	}
	t.changes.Add(1)
	o.inherited, o.Comm = false, comm
	t.living[t.byTid[tid]][0].Comm = comm
}

// alone returns the present period of a thread that shares its thread pointer with no other; nil if it does.
func (t *Threads) alone(tid int) *owner {
	tp, ok := t.byTid[tid]
	if !ok {
		return nil
	}
	owners := t.byTP[tp]
	if n := len(owners); n > 0 && owners[n-1].Tid == tid && owners[n-1].to == forever {
		return &owners[n-1]
	}
	return nil
}

func (t *Threads) born(tid int, tp uint64, comm string, tsc uint64) {
	if old, ok := t.byTid[tid]; ok && old != tp {
		t.leave(tid, tsc)
	}
	t.byTid[tid] = tp
	th, list := Thread{tid, comm}, t.living[tp]
	switch i := slices.IndexFunc(list, func(x Thread) bool { return x.Tid == tid }); {
	case i < 0:
		t.living[tp] = append(list, th)
	case list[i] == th:
		return
	default:
		list[i] = th
	}
	t.period(tp, tsc)
}

// leave ends the time in which a living thread has its thread pointer.
func (t *Threads) leave(tid int, tsc uint64) {
	tp := t.byTid[tid]
	delete(t.byTid, tid)
	t.living[tp] = slices.DeleteFunc(t.living[tp], func(x Thread) bool { return x.Tid == tid })
	t.period(tp, tsc)
}

// period begins at tsc: the living threads with a thread pointer have changed.
func (t *Threads) period(tp, tsc uint64) {
	t.changes.Add(1)
	owners, list := t.byTP[tp], t.living[tp]
	if n := len(owners); n > 0 && owners[n-1].to == forever {
		owners[n-1].to = tsc
	}
	switch len(list) {
	case 0:
		delete(t.living, tp)
		return
	case 1:
		owners = append(owners, owner{Thread: list[0], from: tsc, to: forever})
	default:
		owners = append(owners, owner{from: tsc, to: forever})
	}
	slices.SortStableFunc(owners, func(a, b owner) int { return cmp.Compare(a.from, b.from) })
	t.byTP[tp] = owners
}

// Renamed reports a new comm (prctl PR_SET_NAME). Unknown threads are ignored.
func (t *Threads) Renamed(tid int, comm string, tsc uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tp, ok := t.byTid[tid]; ok {
		t.born(tid, tp, comm, tsc)
	}
}

// Died reports that the thread ended. Unknown threads are ignored.
func (t *Threads) Died(tid int, tsc uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.byTid[tid]; ok {
		t.leave(tid, tsc)
	}
}

// Lookup returns the owner of the thread pointer at the time of the stamp. If none is known for exactly
// that time, it returns the nearest in time: a stamp may be taken slightly before or after jalon is
// notified of a start or end. ok is false if it is not known, or if several threads had it then.
func (t *Threads) Lookup(tp, tsc uint64) (th Thread, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	th = t.find(tp, tsc)
	return th, th.Tid != 0
}

// Living reports whether a living thread has the thread pointer.
func (t *Threads) Living(tp uint64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.living[tp]) > 0
}

// Knows reports whether any thread has had the thread pointer.
func (t *Threads) Knows(tp uint64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.byTP[tp]) > 0
}

func (t *Threads) find(tp, tsc uint64) Thread {
	owners := t.byTP[tp]
	if len(owners) == 0 {
		return Thread{}
	}
	i := sort.Search(len(owners), func(i int) bool { return owners[i].from > tsc }) - 1
	switch {
	case i < 0:
		return owners[0].Thread
	case tsc <= owners[i].to || i == len(owners)-1:
		return owners[i].Thread
	case owners[i+1].from-tsc < tsc-owners[i].to:
		return owners[i+1].Thread
	}
	return owners[i].Thread
}

// within finds the thread of a record that was written in [from, to]; it fails if several had the thread pointer then.
func (t *Threads) within(c *lookups, tp, from, to uint64) (Thread, bool) {
	th, ok := t.lookup(c, tp, to)
	if !ok {
		return Thread{}, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, o := range t.byTP[tp] {
		if o.Tid != th.Tid && o.from <= to && o.to >= from {
			return Thread{}, false
		}
	}
	return th, true
}

// lookups caches results of Lookup for one reader.
type lookups struct {
	changes uint64
	list    [1 << lookupBits]lookup
}

const lookupBits = 5

type lookup struct {
	tp       uint64
	from, to uint64 // the thread is the owner of tp in [from, to)
	Thread
}

// lookup is Lookup for a reader that caches results.
func (t *Threads) lookup(c *lookups, tp, tsc uint64) (Thread, bool) {
	if now := t.changes.Load(); now != c.changes {
		*c = lookups{changes: now}
	}
	l := &c.list[tp*0x9e3779b97f4a7c15>>(64-lookupBits)] // thread pointers lie far apart
	if l.tp == tp && l.from <= tsc && tsc < l.to {
		return l.Thread, l.Tid != 0
	}
	t.mu.RLock()
	owners := t.byTP[tp]
	for i, o := range owners {
		if i+1 < len(owners) {
			o.to = min(o.to, owners[i+1].from)
		}
		if o.from <= tsc && tsc < o.to {
			*l = lookup{tp, o.from, o.to, o.Thread}
		}
	}
	t.mu.RUnlock()
	return t.Lookup(tp, tsc)
}

// period returns what the last lookup has found of a thread pointer: the stamps from which and to which its thread had it.
func (c *lookups) period(tp uint64) (from, to uint64, ok bool) {
	l := &c.list[tp*0x9e3779b97f4a7c15>>(64-lookupBits)]
	return l.from, l.to, l.tp == tp && l.Tid != 0
}

// Forget removes the threads that ended before tsc, except the last owner of each thread pointer.
func (t *Threads) Forget(tsc uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes.Add(1)
	for tp, owners := range t.byTP {
		keep := 0
		for keep < len(owners)-1 && owners[keep].to < tsc {
			keep++
		}
		if keep > 0 {
			t.byTP[tp] = slices.Clone(owners[keep:])
		}
	}
}
