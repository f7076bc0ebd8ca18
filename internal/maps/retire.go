package maps

import "sync/atomic"

// Giving back slots while hits go on: 9 to 20 of the protocol.

// Returned are slots that are being given back.
type Returned struct{ list []retired }

type retired struct {
	Entry
	tag uint64
}

// Crowded reports whether a table with cells has keys in half of its slots, or half as many keys as it may have.
func (r *Reader) Crowded() bool {
	if r.shape.Limit > 0 && int64(atomic.LoadUint64(r.word(Room))) <= int64(r.shape.Limit)/2 {
		return true
	}
	return 2*r.Used(0, uint64(r.shape.Slots)) >= uint64(r.shape.Slots)
}

// Retire begins to give back the slots of keys for which unused is true. Nothing but hits may change the table until Free has returned, and the slots
// are not among those of an earlier call.
func (r *Reader) Retire(unused func(key []uint64) bool) (out Returned) {
	if r.shape.Sets == 0 || r.shape.Single {
		panic("BUG: maps: only slots with cells are retired")
	}
	for e := range r.Entries() {
		tag := r.word(r.slot(e.slot) + Tag)
		v := atomic.LoadUint64(tag)
		if to := v &^ StateMask; v&StateMask == Hidden && isRetired(to) && unused(e.Key) && atomic.CompareAndSwapUint64(tag, v, to) {
			out.list = append(out.list, retired{e, to})
			r.moreRoom(1)
		}
	}
	return out
}

// Len is how many slots there are.
func (t *Returned) Len() int { return len(t.list) }

// RetireDeleted begins to give back the slots of keys that are deleted, and returns how many. Only hits may change the table until FreeDeleted has
// returned. No list is made: where keys come fast, the time to make one would be that in which they find no room.
func (r *Reader) RetireDeleted() (retired int) {
	if !r.shape.Reuse {
		panic("BUG: maps: hits do not know retired slots of this table")
	}
	for i := range r.slots() {
		tag := r.word(r.slot(i) + Tag)
		v := atomic.LoadUint64(tag)
		if to := v &^ StateMask; v&StateMask == Hidden && isRetired(to) && atomic.CompareAndSwapUint64(tag, v, to) {
			retired++
		}
	}
	return retired
}

// FreeDeleted gives the slots back that are retired still, behind the grace (step 11), and returns how many.
func (r *Reader) FreeDeleted() (freed int) {
	for i := range r.slots() {
		at := r.slot(i)
		tag := r.word(at + Tag)
		if v := atomic.LoadUint64(tag); !isRetired(v) || !atomic.CompareAndSwapUint64(tag, v, Freeing) {
			continue
		}
		for off := at + Key; off < at+r.shape.Stride(); off += 8 {
			atomic.StoreUint64(r.word(off), 0)
		}
		atomic.StoreUint64(tag, Gone)
		freed++
	}
	return freed
}

// Free gives the slots back, behind the grace (step 16). taken gets what each had, which counts for its key from then on.
func (r *Reader) Free(t Returned, sums int, taken func(key, value []uint64)) {
	for i := range t.list {
		e := &t.list[i]
		tag := r.word(r.slot(e.slot) + Tag)
		if atomic.LoadUint64(tag) != e.tag {
			continue
		}
		taken(e.Key, r.Sum(&e.Entry, sums))
		for set := range r.shape.Sets {
			r.zero(r.shape.CellsAt() + uint64(set)*r.shape.SetStride() + e.slot*r.shape.Stride())
		}
		for n := range uint64(r.shape.KeyWords()) {
			atomic.StoreUint64(r.word(r.slot(e.slot)+Key+8*n), 0)
		}
		atomic.StoreUint64(tag, Gone)
	}
	r.sweep()
}

// sweep is step 20.
func (r *Reader) sweep() {
	next := uint64(0)
	for i := r.slots(); i > 0; i-- {
		tag := r.word(r.slot(i-1) + Tag)
		v := atomic.LoadUint64(tag)
		if v == Gone && next == 0 && atomic.CompareAndSwapUint64(tag, Gone, 0) {
			v = 0
		}
		next = v
	}
}
